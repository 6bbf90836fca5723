// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/operation"
)

var (
	valkeys   = v1alpha1.Resource("valkeys")
	sentinels = v1alpha1.Resource("valkeysentinels")
)

// Causes of a refusal, beside the reasons of package operation.
const (
	// CauseClaimed: another operation is claimed.
	CauseClaimed metav1.CauseType = "OperationInProgress"
	// CauseTerminating: the object is being deleted.
	CauseTerminating metav1.CauseType = "Terminating"
	// CausePrecondition: a precondition of the caller does not hold.
	CausePrecondition metav1.CauseType = "PreconditionFailed"
	// CauseNotMonitored: the ValkeySentinel monitors nothing.
	CauseNotMonitored metav1.CauseType = "NotMonitored"
)

// answer is the status of a request that was carried out, or could not be.
func answer(claim *v1alpha1.OperationStatus, result operation.Result, err error) v1alpha1.FailoverRequestStatus {
	status := v1alpha1.FailoverRequestStatus{
		Phase: v1alpha1.OperationPhase(result.Phase), OperationUID: claim.UID, From: result.From, To: result.To,
		Coordinated: result.Coordinated, StartedAt: claim.StartedAt,
	}
	if status.From == "" {
		status.From = claim.From
	}
	if status.To == "" {
		status.To = claim.To
	}
	if result.Phase == operation.Succeeded {
		status.Duration = &metav1.Duration{Duration: result.Duration.Round(time.Millisecond)}
	}
	switch {
	case err != nil:
		status.Phase, status.Message = v1alpha1.OperationFailed, err.Error()
	default:
		status.Message = strings.TrimSpace(result.Summary())
		if text := losing(result.Losing); text != "" {
			status.Message += "; " + text
		}
	}
	return status
}

func losing(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return fmt.Sprintf("%s held, or may have held, writes that the new primary does not have", strings.Join(members, ", "))
}

func asRefusal(err error) *operation.Refused {
	var refusal *operation.Refused
	errors.As(err, &refusal)
	return refusal
}

// refused is 429 where the same request may be granted later, else 409. It has no Retry-After: clients would repeat by themselves
// what a person should decide anew.
func refused(name string, refusal *operation.Refused) error {
	code, reason := int32(http.StatusConflict), metav1.StatusReasonConflict
	if refusal.Temporary() {
		code, reason = http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests
	}
	causes := make([]metav1.StatusCause, 0, len(refusal.Causes))
	texts := make([]string, 0, len(refusal.Causes))
	for _, cause := range refusal.Causes {
		causes = append(causes, metav1.StatusCause{Type: metav1.CauseType(cause.Reason), Message: cause.Text})
		texts = append(texts, cause.Text)
	}
	return failure(code, reason, valkeys, name, strings.Join(texts, "; "), causes)
}

func claimed(name string, claim *v1alpha1.OperationStatus) error {
	text := fmt.Sprintf("a failover from %s to %s, requested by %s, is under way since %s",
		claim.From, claim.To, claim.RequestedBy, claim.StartedAt.UTC().Format(time.RFC3339))
	return conflict(valkeys, name, CauseClaimed, text)
}

func preconditionFailed(resource schema.GroupResource, name, what, wanted, got string) error {
	return conflict(resource, name, CausePrecondition, fmt.Sprintf("the precondition names the %s %s, it is %s", what, wanted, got))
}

func conflict(resource schema.GroupResource, name string, cause metav1.CauseType, text string) error {
	return failure(http.StatusConflict, metav1.StatusReasonConflict, resource, name, text, []metav1.StatusCause{{Type: cause, Message: text}})
}

func failure(code int32, reason metav1.StatusReason, resource schema.GroupResource, name, text string, causes []metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: fmt.Sprintf("failover of %s %q refused: %s", resource, name, text),
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name, Causes: causes},
	}}
}

func notFound(name string) error { return apierrors.NewNotFound(valkeys, name) }
