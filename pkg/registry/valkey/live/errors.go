// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// retryAfterSeconds is when to ask again where nobody answered.
const retryAfterSeconds = 2

// Unavailable is 503 with Retry-After: nobody could be asked, which says nothing about the object.
func Unavailable(resource schema.GroupResource, name, message string, causes []metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable, Message: message,
		Details: &metav1.StatusDetails{
			Group: resource.Group, Kind: resource.Resource, Name: name, Causes: causes, RetryAfterSeconds: retryAfterSeconds,
		},
	}}
}

// FromDiscovery makes missing credentials an Unavailable: the controller writes them soon after the object is made.
func FromDiscovery(resource schema.GroupResource, name string, err error) error {
	if errors.Is(err, discovery.ErrNoCredentials) {
		return Unavailable(resource, name, "cannot log in yet: "+err.Error(), nil)
	}
	return err
}

// CauseUnreachable is the cause for each process that did not answer.
const CauseUnreachable metav1.CauseType = "Unreachable"

// UnreachableCauses names the processes of a look that did not answer, and why.
func UnreachableCauses(snapshot topology.Snapshot) []metav1.StatusCause {
	var causes []metav1.StatusCause
	add := func(name string, reach topology.Reach) {
		if reach.OK() {
			return
		}
		text := name + ": " + string(reach.Class)
		if reach.Text != "" {
			text += ": " + reach.Text
		}
		causes = append(causes, metav1.StatusCause{Type: CauseUnreachable, Message: text})
	}
	for _, member := range snapshot.Members {
		add(member.Name, member.Reach)
	}
	for _, sentinel := range snapshot.Sentinels {
		add(sentinel.Name, sentinel.Reach)
	}
	return causes
}

// AnyMemberAnswered tells whether at least one data member of a look answered.
func AnyMemberAnswered(snapshot topology.Snapshot) bool {
	return slices.ContainsFunc(snapshot.Members, topology.Member.Answered)
}

// AnyAnswered tells whether at least one process of a look answered.
func AnyAnswered(snapshot topology.Snapshot) bool {
	if AnyMemberAnswered(snapshot) {
		return true
	}
	for _, sentinel := range snapshot.Sentinels {
		if sentinel.Reach.OK() {
			return true
		}
	}
	return false
}
