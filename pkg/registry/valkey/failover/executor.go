// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// claimMargin is how long a claim outlives the call that made it, so that nobody begins something else while the end is
	// being written.
	claimMargin = 10 * time.Second
	// finishTimeout bounds the writing of the end.
	finishTimeout = 3 * time.Second
)

// Executor changes the primary of Valkeys. One of it is behind every form of the subresource. All fields are required.
type Executor struct {
	live.Dependencies
	Scheme *runtime.Scheme
	// Status writes the status of Valkeys.
	Status rest.Updater
}

// order is one call.
type order struct {
	valkey  string
	request *v1alpha1.Failover
	user    string
	dryRun  bool
	// uid and resourceVersion that the Valkey must have; empty where the caller asked for none.
	uid             types.UID
	resourceVersion string

	startedAt time.Time
}

// run carries an order out in the context's namespace and fills in the request's status. An error means that the primary is who it was: nothing
// was done, or what was begun has been taken back as far as everybody could be reached.
func (e *Executor) run(ctx context.Context, o order) error {
	o.startedAt = e.Clock.Now()
	valkey, err := e.Objects.Valkey(ctx, o.valkey)
	switch {
	case apierrors.IsNotFound(err):
		// The store names the resource of the request, which may be another.
		return notFound(o.valkey)
	case err != nil:
		return err
	}
	if err := o.mayBegin(valkey, o.startedAt); err != nil {
		return err
	}
	subject, err := e.Subject(ctx, valkey)
	if err != nil {
		return err
	}
	if subject.Monitor != "" && len(subject.Sentinels) == 0 {
		return conflict(valkeys, o.valkey, CauseNotMonitored, "no ValkeySentinel selects it, and with failover.mode Sentinel only Sentinels change the "+
			"primary: give it the labels that one selects, make one that selects it, or set spec.failover.mode to Operator or None")
	}
	request := operation.Request{To: o.request.Spec.To, Mode: operation.Mode(o.request.Spec.Mode), Monitor: subject.Monitor}
	config, _ := valkeyconf.NodeSettings(valkey.Spec.Config)
	request.PingPeriod, request.LinkTimeout = valkeyconf.LinkTimes(config)
	snapshot := inspect.Inspector{Clients: e.Clients}.Look(ctx, subject)
	if !live.AnyAnswered(snapshot) {
		return live.Unavailable(valkeys, o.valkey, "no process of the Valkey answers", live.UnreachableCauses(snapshot))
	}
	decision := operation.CheckFailover(snapshot, request)
	status := &o.request.Status
	*status = v1alpha1.FailoverRequestStatus{From: decision.From, To: decision.To}
	if !decision.OK() {
		return e.refused(ctx, o, &operation.Refused{Causes: decision.Causes})
	}
	if o.dryRun {
		status.Phase, status.Message = v1alpha1.OperationPending, losing(decision.Losing)
		e.warnOfAbsence(ctx, o.valkey, subject.Monitor)
		return nil
	}
	claim, err := e.claim(ctx, o, decision)
	if err != nil {
		return err
	}
	// From here on somebody waits for the end of the claim, whether the caller still does or not.
	if err := e.act(context.WithoutCancel(ctx), o, subject, request, claim); err != nil {
		return err
	}
	e.warnOfAbsence(ctx, o.valkey, subject.Monitor)
	return nil
}

// warnOfAbsence tells the caller that the write Service does not follow a change of the primary: the controller leads it, and is away.
func (e *Executor) warnOfAbsence(ctx context.Context, name, monitor string) {
	if !e.Controller.IsAway(ctx) {
		return
	}
	text := fmt.Sprintf("the controller is away: until it is back, Service %s leads to the old primary", naming.PrimaryService(name))
	if monitor != "" {
		text += "; clients that ask the Sentinels find the new one"
	}
	warning.AddWarning(ctx, "", text)
}

// refused tells why, and rather who: whoever has begun since we read the object is the reason for whatever looked amiss.
func (e *Executor) refused(ctx context.Context, o order, refusal *operation.Refused) error {
	if valkey, err := e.Objects.Valkey(ctx, o.valkey); err == nil {
		if claim := holds(&valkey.Status, e.Clock.Now()); claim != nil {
			return claimed(o.valkey, claim)
		}
	}
	return refused(o.valkey, refusal)
}

// act carries out what is claimed, writes the end, and answers.
func (e *Executor) act(ctx context.Context, o order, subject inspect.Subject, request operation.Request, claim *v1alpha1.OperationStatus) error {
	acting, cancel := context.WithDeadline(ctx, o.deadline())
	defer cancel()
	result, err := operation.Failover{Clients: e.Clients}.Do(acting, subject, request)
	status := &o.request.Status
	*status = answer(claim, result, err)
	finishing, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	if finishErr := e.finish(finishing, o, status); finishErr != nil {
		status.Message += "; the end could not be recorded: " + finishErr.Error()
	}
	if refusal := asRefusal(err); refusal != nil {
		return refused(o.valkey, refusal)
	}
	if err != nil {
		return failed(o.valkey, status, result, err)
	}
	return nil
}

func (o order) deadline() time.Time {
	return o.startedAt.Add(time.Duration(o.request.Spec.TimeoutSeconds) * time.Second)
}
