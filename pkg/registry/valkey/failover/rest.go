// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// endpoint is what both forms share: which Valkey a request is about is told by find.
type endpoint struct {
	table
	executor *Executor
	// find completes the order for a request on the object of that name.
	find func(ctx context.Context, name string, order *order) error
}

// New is an empty request.
func (e *endpoint) New() runtime.Object { return &api.Failover{} }

// Destroy does nothing: the stores belong to the kinds.
func (e *endpoint) Destroy() {}

// Create carries out a request and returns it with its status.
func (e *endpoint) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	internal, ok := object.(*api.Failover)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a Failover: %T", object))
	}
	request := &v1alpha1.Failover{}
	if err := v1alpha1.Convert_valkey_Failover_To_v1alpha1_Failover(internal.DeepCopy(), request, nil); err != nil {
		return nil, err
	}
	if request.Name != "" && request.Name != name {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the name in the body, %q, is not the one in the URL, %q", request.Name, name))
	}
	request.Name = name
	if err := e.executor.validate(ctx, internal, validate, func(errs field.ErrorList) error { return invalid(name, errs) }); err != nil {
		return nil, err
	}
	order := newOrder(ctx, request, options)
	if err := e.find(ctx, name, &order); err != nil {
		return nil, err
	}
	if err := e.executor.run(ctx, order); err != nil {
		return nil, err
	}
	answer := &api.Failover{}
	return answer, v1alpha1.Convert_v1alpha1_Failover_To_valkey_Failover(request, answer, nil)
}

// validate checks what is stored nowhere, and is therefore checked by nobody else. invalid makes the error of the rules that are broken.
func (e *Executor) validate(ctx context.Context, object runtime.Object, admit rest.ValidateObjectFunc, invalid func(field.ErrorList) error) error {
	errs := rest.ValidateDeclarativelyWithMigrationChecks(ctx, e.Scheme, object, nil, nil, operation.Create, rest.DeclarativeValidationConfig{})
	if len(errs) > 0 {
		return invalid(errs)
	}
	if admit == nil {
		return nil
	}
	return admit(ctx, object.DeepCopyObject())
}

// newOrder takes from a request what counts, and clears what is the answer's.
func newOrder(ctx context.Context, request *v1alpha1.Failover, options *metav1.CreateOptions) order {
	request.Namespace = genericapirequest.NamespaceValue(ctx)
	request.ManagedFields = nil
	request.Status = v1alpha1.FailoverRequestStatus{}
	return order{request: request, user: userName(ctx), dryRun: dryrun.IsDryRun(options.DryRun)}
}

func userName(ctx context.Context) string {
	if user, ok := genericapirequest.UserFrom(ctx); ok {
		return user.GetName()
	}
	return ""
}

func invalid(name string, errs field.ErrorList) error {
	return apierrors.NewInvalid(api.Kind("Failover"), name, errs)
}

// ValkeyREST is valkeys/{name}/failover.
type ValkeyREST struct{ endpoint }

// SentinelREST is valkeysentinels/{name}/failover.
type SentinelREST struct{ endpoint }

var (
	_ rest.NamedCreater   = (*ValkeyREST)(nil)
	_ rest.TableConvertor = (*ValkeyREST)(nil)
	_ rest.NamedCreater   = (*SentinelREST)(nil)
	_ rest.TableConvertor = (*SentinelREST)(nil)
)

// NewValkeyREST makes the form of Valkeys.
func NewValkeyREST(executor *Executor) *ValkeyREST {
	return &ValkeyREST{endpoint{executor: executor, find: findItself}}
}

// NewSentinelREST makes the form of ValkeySentinels.
func NewSentinelREST(executor *Executor) *SentinelREST {
	return &SentinelREST{endpoint{executor: executor, find: executor.findMonitored}}
}

func findItself(_ context.Context, name string, o *order) error {
	if named := o.request.Spec.Valkey; named != "" && named != name {
		return invalid(name, field.ErrorList{field.Invalid(field.NewPath("spec", "valkey"), named, "must be empty or the Valkey itself")})
	}
	o.isAbout(name)
	return nil
}

// isAbout names the Valkey of an order, of which the preconditions of the request must hold.
func (o *order) isAbout(name string) {
	o.valkey = name
	preconditions := o.request.Spec.Preconditions
	if preconditions == nil {
		return
	}
	if preconditions.UID != nil {
		o.uid = *preconditions.UID
	}
	if preconditions.ResourceVersion != nil {
		o.resourceVersion = *preconditions.ResourceVersion
	}
}
