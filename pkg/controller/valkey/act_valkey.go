// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// changeTimeout bounds a change of the primary, claimMargin is how much longer its claim is fresh.
	changeTimeout = 30 * time.Second
	claimMargin   = 10 * time.Second
)

// follow makes a node follow the primary, if both still are what they were seen to be a moment ago.
func (r *reconciler) follow(ctx context.Context, l *look, action plan.Follow) (skipped bool, err error) {
	now := r.lookAgain(ctx, l, action.Node, action.Primary)
	before, _ := l.Snapshot.Member(action.Node)
	node, _ := now.Member(action.Node)
	primary, _ := now.Member(action.Primary)
	if !node.Reach.OK() || !primary.Reach.OK() || primary.Role != topology.RolePrimary || node.Role != before.Role || node.Primary != before.Primary {
		return true, nil
	}
	server, err := r.node(l, action.Node)
	if err != nil {
		return false, err
	}
	if err := server.ReplicaOf(ctx, valkeyclient.Address(action.Address)); err != nil {
		return false, err
	}
	if before.Role != topology.RolePrimary {
		return false, nil
	}
	// Its clients believe that they write to the primary.
	if _, err := server.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub); err != nil {
		return false, fmt.Errorf("it follows now, but its clients stay connected: %w", err)
	}
	return false, nil
}

// cutOff ends the connections of a node's clients, if it still is a replica.
func (r *reconciler) cutOff(ctx context.Context, l *look, action plan.CutOff) (skipped bool, err error) {
	now, _ := r.lookAgain(ctx, l, action.Node).Member(action.Node)
	if !now.Reach.OK() || now.Role != topology.RoleReplica {
		return true, nil
	}
	server, err := r.node(l, action.Node)
	if err != nil {
		return false, err
	}
	_, err = server.ClientKill(ctx, valkeyclient.ClientNormal, valkeyclient.ClientPubSub)
	return false, err
}

// lookAgain is a fresh look at some nodes.
func (r *reconciler) lookAgain(ctx context.Context, l *look, nodes ...string) topology.Snapshot {
	var some inspect.Subject
	for _, member := range r.subject(l).Members {
		for _, name := range nodes {
			if member.Target.Name == name {
				some.Members = append(some.Members, member)
			}
		}
	}
	return inspect.Inspector{Clients: r.clients(l), ProbeTimeout: patience, Now: r.now}.Look(ctx, some)
}

func (r *reconciler) node(l *look, name string) (valkeyclient.Node, error) {
	return r.clients(l).Node(target(name, r.address(l.Valkey.Namespace, name), l.nodePassword))
}

// promote makes a replica the primary, if the lost one still is lost.
func (r *reconciler) promote(ctx context.Context, l *look, action plan.Promote, outcome *plan.Outcome) {
	before, _ := l.Snapshot.Member(action.From)
	lost, _ := r.lookAgain(ctx, l, action.From).Member(action.From)
	if lost.Answered() && (lost.Role != before.Role || lost.HasData() != before.HasData()) {
		outcome.Skipped = true
		return
	}
	request := operation.Request{To: action.To, Mode: operation.Forced, Monitor: action.Monitor}
	r.change(ctx, l, claim{from: action.From, to: action.To, cause: action.Cause()}, request, outcome)
}

// handOver moves the primary without losing anything that was acknowledged. What it relies on is checked on a look of its own.
func (r *reconciler) handOver(ctx context.Context, l *look, action plan.HandOver, outcome *plan.Outcome) {
	request := operation.Request{To: action.To, Mode: operation.Coordinated, Monitor: action.Monitor}
	config, _ := valkeyconf.NodeSettings(l.Valkey.Spec.Config)
	request.PingPeriod, request.LinkTimeout = valkeyconf.LinkTimes(config)
	r.change(ctx, l, claim{from: action.From, to: action.To, cause: action.Cause}, request, outcome)
}

// claim is what an operation of ours is about.
type claim struct {
	from, to string
	cause    v1alpha1.FailoverCause
}

// change claims the operation in the status, so that nobody else begins one, and carries it out. If somebody was faster, the write of the
// claim is refused and nothing is done.
func (r *reconciler) change(ctx context.Context, l *look, of claim, request operation.Request, outcome *plan.Outcome) {
	now := metav1.NewTime(r.now())
	claimed := &v1alpha1.OperationStatus{
		Type: v1alpha1.OperationFailover, UID: string(uuid.NewUUID()), RequestedBy: plan.Requester(of.cause), From: of.from, To: of.to,
		StartedAt: now, ExpiresAt: metav1.NewTime(now.Add(changeTimeout + claimMargin)), Phase: v1alpha1.OperationInProgress,
	}
	status := l.Valkey.Status.DeepCopy()
	status.Operation = claimed
	if err := r.writeStatus(ctx, l, *status); err != nil {
		outcome.Err = fmt.Errorf("claim the change of the primary: %w", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	result, err := operation.Failover{Clients: r.clients(l)}.Do(ctx, r.subject(l), request)
	outcome.Operation, outcome.Duration, outcome.Err = claimed.DeepCopy(), result.Duration, err
	switch {
	case err != nil:
		outcome.Operation.Phase, outcome.Operation.Message = v1alpha1.OperationFailed, err.Error()
	case result.Phase == operation.Succeeded:
		outcome.Operation.Phase, outcome.Operation.To = v1alpha1.OperationSucceeded, result.To
	default:
		// It goes on by itself: the claim stays until it is seen to have happened, or has expired.
		outcome.Skipped = true
	}
}

// writeStatus replaces the status of the object as it was looked at, or last written by us. It is an update and not an apply, so that the
// resource version guards the operation in it: a claim that somebody else made meanwhile is never overwritten.
func (r *reconciler) writeStatus(ctx context.Context, l *look, status v1alpha1.ValkeyStatus) error {
	base := l.Valkey.ResourceVersion
	if l.known.written != nil && l.known.written.ResourceVersion == base {
		base = l.known.baseVersion
	}
	written := l.Valkey.DeepCopy()
	written.Status = status
	if err := r.client.Status().Update(ctx, written, client.FieldOwner(naming.FieldManager)); err != nil {
		return err
	}
	l.Valkey = written
	l.known.written, l.known.baseVersion = written, base
	return nil
}
