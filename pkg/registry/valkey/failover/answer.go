// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
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
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
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
	// CauseNoReplicas: the Valkey is to have no replicas.
	CauseNoReplicas metav1.CauseType = "NoReplicas"
	// CauseNotMonitored: the ValkeySentinel monitors nothing, or the Valkey is monitored by none.
	CauseNotMonitored metav1.CauseType = "NotMonitored"
)

// Causes of a failure: what went wrong, what was put back, what could not be, and where the end is recorded.
const (
	CauseFailed    metav1.CauseType = "FailoverFailed"
	CauseUndone    metav1.CauseType = "Undone"
	CauseNotUndone metav1.CauseType = "NotUndone"
	CauseRecorded  metav1.CauseType = "Recorded"
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
	return problem{code: code, reason: reason, resource: valkeys, name: name, what: "refused", text: strings.Join(texts, "; "), causes: causes}.asError()
}

// failed is the error of what was begun and did not come to pass: 504 where something did not happen in time, else 500. Like a refusal it
// has no Retry-After.
func failed(name string, status *v1alpha1.FailoverRequestStatus, result operation.Result, err error) error {
	code, reason := int32(http.StatusInternalServerError), metav1.StatusReasonInternalError
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, valkeyclient.ErrTimeout) {
		code, reason = http.StatusGatewayTimeout, metav1.StatusReasonTimeout
	}
	causes := []metav1.StatusCause{{Type: CauseFailed, Message: err.Error()}}
	text := fmt.Sprintf("%s to %s: %s", status.From, status.To, status.Message)
	done, left := result.Undone()
	for _, step := range done {
		causes = append(causes, metav1.StatusCause{Type: CauseUndone, Message: step})
	}
	for _, step := range left {
		causes = append(causes, metav1.StatusCause{Type: CauseNotUndone, Message: step})
	}
	if len(done) > 0 {
		text += "; undone: " + strings.Join(done, ", ")
	}
	if len(left) > 0 {
		text += "; could not be undone: " + strings.Join(left, ", ")
	}
	causes = append(causes, metav1.StatusCause{Type: CauseRecorded, Field: "status.operation", Message: "as " + string(status.Phase) + ", uid " + status.OperationUID})
	return problem{code: code, reason: reason, resource: valkeys, name: name, what: "failed", text: text, causes: causes}.asError()
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
	return problem{
		code: http.StatusConflict, reason: metav1.StatusReasonConflict, resource: resource, name: name, what: "refused", text: text,
		causes: []metav1.StatusCause{{Type: cause, Message: text}},
	}.asError()
}

// problem is why the primary is who it was.
type problem struct {
	code       int32
	reason     metav1.StatusReason
	resource   schema.GroupResource
	name       string
	what, text string
	causes     []metav1.StatusCause
}

func (p problem) asError() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: p.code, Reason: p.reason,
		Message: fmt.Sprintf("failover of %s %q %s: %s", p.resource, p.name, p.what, p.text),
		Details: &metav1.StatusDetails{Group: p.resource.Group, Kind: p.resource.Resource, Name: p.name, Causes: p.causes},
	}}
}

func notFound(name string) error { return apierrors.NewNotFound(valkeys, name) }
