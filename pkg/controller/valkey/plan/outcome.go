// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Outcome is what became of an action.
type Outcome struct {
	Action Action
	// Err is why it failed; nil when it is done. It holds no secret.
	Err error
	// Transient: the failure is one of the moment (a conflict, an API that is away), to be tried again and not worth a word in the status.
	Transient bool
	// Repeated: it failed a moment ago and was not tried again; the failure is the old one.
	Repeated bool
	// Foreign: an object of that name belongs to somebody else.
	Foreign bool
	// Skipped: what it relied on no longer held when it was about to be done, so that nothing was done.
	Skipped bool
	// Operation is the claim under which a change of the primary was carried out, with its end. Its To is who became primary: Sentinels may have had
	// their own choice.
	Operation *v1alpha1.OperationStatus
	// Duration of a change of the primary.
	Duration time.Duration
}

// Done tells whether the action was carried out.
func (o Outcome) Done() bool { return o.Err == nil && !o.Skipped }

// Remember is what the next pass shall know: what the plan says, as far as it was carried out.
func Remember(o Observed, p Plan, outcomes []Outcome) Memory {
	memory := p.Memory
	for _, action := range p.Actions {
		if _, cuts := action.(CutOff); cuts {
			memory.stillAstray(o, outcomes)
		}
		if _, replaces := action.(Replace); replaces && !slices.ContainsFunc(outcomes, func(outcome Outcome) bool {
			return outcome.Done() && outcome.Action.Tier() == TierDisruptive
		}) {
			memory.Rolling, memory.RollingRevision, memory.RollingSince = o.Memory.Rolling, o.Memory.RollingRevision, o.Memory.RollingSince
		}
	}
	return memory
}

// change is from where to where an action moved the primary, or was to, and why; false for any other action.
func change(outcome Outcome) (from, to string, cause v1alpha1.FailoverCause, changes bool) {
	switch a := outcome.Action.(type) {
	case Promote:
		return a.From, outcome.promoted(a.To), a.Cause(), true
	case HandOver:
		return a.From, outcome.promoted(a.To), a.Cause, true
	}
	return "", "", "", false
}

// promoted is who became primary by an action that names another, or the same.
func (o Outcome) promoted(named string) string {
	if o.Operation == nil {
		return named
	}
	return cmp.Or(o.Operation.To, named)
}
