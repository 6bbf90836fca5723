// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/stored"
)

// claimWithoutEnd is how long a claim counts that does not say when it expires.
const claimWithoutEnd = time.Minute

// holds is the claim that keeps others from beginning something, if there is one.
func holds(status *v1alpha1.ValkeyStatus, now time.Time) *v1alpha1.OperationStatus {
	claim := status.Operation
	if claim == nil || claim.Phase == v1alpha1.OperationSucceeded || claim.Phase == v1alpha1.OperationFailed {
		return nil
	}
	expires := claim.ExpiresAt.Time
	if expires.IsZero() {
		expires = claim.StartedAt.Add(claimWithoutEnd)
	}
	if !now.Before(expires) {
		return nil
	}
	return claim
}

// mayBegin tells what in the object itself forbids the order.
func (o order) mayBegin(valkey *v1alpha1.Valkey, now time.Time) error {
	switch {
	case o.uid != "" && o.uid != valkey.UID:
		return preconditionFailed(valkeys, o.valkey, "UID", string(o.uid), string(valkey.UID))
	case o.resourceVersion != "" && o.resourceVersion != valkey.ResourceVersion:
		return preconditionFailed(valkeys, o.valkey, "resourceVersion", o.resourceVersion, valkey.ResourceVersion)
	case valkey.DeletionTimestamp != nil:
		return conflict(valkeys, o.valkey, CauseTerminating, "it is being deleted")
	case valkey.Spec.Replicas == 0:
		return conflict(valkeys, o.valkey, CauseNoReplicas, "spec.replicas is 0, so that nobody could take over: ask again when there is a replica")
	}
	if claim := holds(&valkey.Status, now); claim != nil {
		return claimed(o.valkey, claim)
	}
	return nil
}

// claim records the operation in the status of the very object on which nothing else is claimed. Two callers at once both get
// here; the storage lets one of them write, and the other finds the claim.
func (e *Executor) claim(ctx context.Context, o order, decision operation.Decision) (*v1alpha1.OperationStatus, error) {
	claim := v1alpha1.OperationStatus{
		Type: v1alpha1.OperationFailover, UID: string(uuid.NewUUID()), RequestedBy: o.user, From: decision.From, To: decision.To,
		StartedAt: metav1.NewTime(o.startedAt), ExpiresAt: metav1.NewTime(o.deadline().Add(claimMargin)), Phase: v1alpha1.OperationInProgress,
	}
	err := e.writeStatus(ctx, o.valkey, func(valkey *v1alpha1.Valkey) (bool, error) {
		if err := o.mayBegin(valkey, e.Clock.Now()); err != nil {
			return false, err
		}
		valkey.Status.Operation = &claim
		return true, nil
	})
	return &claim, err
}

// finish writes how the claimed operation ended, unless the claim is not ours any more.
func (e *Executor) finish(ctx context.Context, o order, end *v1alpha1.FailoverRequestStatus) error {
	return e.writeStatus(ctx, o.valkey, func(valkey *v1alpha1.Valkey) (bool, error) {
		status := &valkey.Status
		if status.Operation == nil || status.Operation.UID != end.OperationUID {
			return false, nil
		}
		status.Operation.Phase, status.Operation.To, status.Operation.Message = end.Phase, end.To, end.Message
		if end.Phase != v1alpha1.OperationSucceeded {
			return true, nil
		}
		status.LastFailover = &v1alpha1.FailoverRecord{
			From: end.From, To: end.To, Cause: v1alpha1.FailoverCauseRequested, StartedAt: end.StartedAt, Duration: end.Duration,
		}
		// What is on record decides, should the old primary come back as one before the controller has looked.
		status.Primary, status.PrimaryAddress = end.To, e.Processes.Addresses.Node(valkey.Namespace, end.To)
		tellNewPrimary(status, end.From, end.To)
		return true, nil
	})
}

// tellNewPrimary puts the new primary where status names the old one as such: what else has changed the controller tells when it has looked.
func tellNewPrimary(status *v1alpha1.ValkeyStatus, from, to string) {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Reason == v1alpha1.ReasonPrimaryServing {
			c.Message = to + " is primary"
		}
	}
	if status.Reason == v1alpha1.ReasonPrimaryServing {
		status.Message = to + " is primary"
	}
	for i := range status.Members {
		switch m := &status.Members[i]; m.Node {
		case from:
			// Whether it has a link to the new one nobody has looked at.
			m.Role, m.Synced, m.LinkUp = v1alpha1.RoleReplica, false, false
		case to:
			m.Role, m.Synced, m.LinkUp = v1alpha1.RolePrimary, true, false
		}
	}
}

// writeStatus changes the status of the object as it is, and again if it changes meanwhile. change returns false for no write.
func (e *Executor) writeStatus(ctx context.Context, name string, change func(*v1alpha1.Valkey) (bool, error)) error {
	update := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		valkey, err := stored.Versioned(old)
		if err != nil {
			return nil, err
		}
		// An object that is not there is shown as an empty one.
		if valkey.ResourceVersion == "" {
			return nil, notFound(name)
		}
		write, err := change(valkey)
		if err != nil {
			return nil, err
		}
		if !write {
			return old, nil
		}
		changed := &api.Valkey{}
		return changed, v1alpha1.Convert_v1alpha1_Valkey_To_valkey_Valkey(valkey, changed, nil)
	})
	_, _, err := e.Status.Update(onStatus(ctx), name, update, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

// onStatus is the context of a request on the status of a Valkey: which rules hold for a write is told by it.
func onStatus(ctx context.Context) context.Context {
	info := genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "update", APIGroup: v1alpha1.GroupName, APIVersion: v1alpha1.SchemeGroupVersion.Version,
		Namespace: genericapirequest.NamespaceValue(ctx), Resource: valkeys.Resource, Subresource: "status",
	}
	return genericapirequest.WithRequestInfo(ctx, &info)
}
