// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// claimWithoutEnd is how long a claim that does not say when it expires is fresh.
const claimWithoutEnd = time.Minute

// stepOperation lets a claimed operation go first, whoever claimed it, and ends one whose owner died: as a success if what it wanted is
// seen, as a failure if its time is up. A finished one stays as a record until the next. Disrupts nothing.
func stepOperation(p *pass) decision {
	operation := p.o.Valkey.Status.Operation.DeepCopy()
	p.plan.Operation = operation
	if operation == nil || operation.Phase == v1alpha1.OperationSucceeded || operation.Phase == v1alpha1.OperationFailed {
		return decision{}
	}
	expired := !p.o.Now.Before(expiry(operation))
	done := p.verdict.Confirmed && p.verdict.Node == operation.To && operation.To != ""
	switch {
	case done && (expired || IsOwn(operation)):
		operation.Phase = v1alpha1.OperationSucceeded
	case expired:
		operation.Phase = v1alpha1.OperationFailed
		operation.Message = "not finished in time by whoever claimed it"
	default:
		p.claimed = true
		p.trace("operation", "claimed by "+operation.RequestedBy)
	}
	return decision{}
}

func expiry(operation *v1alpha1.OperationStatus) time.Time {
	if operation.ExpiresAt.IsZero() {
		return operation.StartedAt.Add(claimWithoutEnd)
	}
	return operation.ExpiresAt.Time
}

// requester is what the controller's own claims begin with.
const requester = "valkey-controller/"

// Requester is how the controller claims an operation of its own, so that the cause is known after a restart too.
func Requester(cause v1alpha1.FailoverCause) string { return requester + string(cause) }

// IsOwn tells whether the controller claimed the operation itself.
func IsOwn(operation *v1alpha1.OperationStatus) bool {
	_, own := ownCause(operation)
	return own
}

func ownCause(operation *v1alpha1.OperationStatus) (v1alpha1.FailoverCause, bool) {
	if len(operation.RequestedBy) <= len(requester) || operation.RequestedBy[:len(requester)] != requester {
		return "", false
	}
	return v1alpha1.FailoverCause(operation.RequestedBy[len(requester):]), true
}
