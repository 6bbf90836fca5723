// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// RequestREST is failoverrequests, which can only be created: kubectl create -f reaches a resource, and no subresource.
type RequestREST struct {
	table
	executor *Executor
}

var (
	_ rest.Creater              = (*RequestREST)(nil) //nolint:misspell // the library calls it so
	_ rest.Scoper               = (*RequestREST)(nil)
	_ rest.SingularNameProvider = (*RequestREST)(nil)
	_ rest.TableConvertor       = (*RequestREST)(nil)
)

// NewRequestREST makes the endpoint.
func NewRequestREST(executor *Executor) *RequestREST { return &RequestREST{executor: executor} }

// New is an empty request.
func (r *RequestREST) New() runtime.Object { return &api.FailoverRequest{} }

// Destroy does nothing: the stores belong to the kinds.
func (r *RequestREST) Destroy() {}

// NamespaceScoped is true.
func (r *RequestREST) NamespaceScoped() bool { return true }

// GetSingularName is what kubectl calls one of them.
func (r *RequestREST) GetSingularName() string { return "failoverrequest" }

// Create carries out a request and returns it with its status. A request without a name gets that of its Valkey.
func (r *RequestREST) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	internal, ok := object.(*api.FailoverRequest)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a FailoverRequest: %T", object))
	}
	invalid := func(errs field.ErrorList) error {
		return apierrors.NewInvalid(api.Kind("FailoverRequest"), internal.Name, errs)
	}
	if err := r.executor.validate(ctx, internal, validate, invalid); err != nil {
		return nil, err
	}
	if internal.Spec.Valkey == "" {
		return nil, invalid(field.ErrorList{field.Required(field.NewPath("spec", "valkey"), "names the Valkey to fail over")})
	}
	versioned := &v1alpha1.FailoverRequest{}
	if err := v1alpha1.Convert_valkey_FailoverRequest_To_v1alpha1_FailoverRequest(internal.DeepCopy(), versioned, nil); err != nil {
		return nil, err
	}
	request := &v1alpha1.Failover{ObjectMeta: versioned.ObjectMeta, Spec: versioned.Spec}
	request.Name = cmp.Or(request.Name, request.Spec.Valkey)
	order := newOrder(ctx, request, options)
	order.isAbout(request.Spec.Valkey)
	if err := r.executor.run(ctx, order); err != nil {
		return nil, err
	}
	versioned.ObjectMeta, versioned.Spec, versioned.Status = request.ObjectMeta, request.Spec, request.Status
	answer := &api.FailoverRequest{}
	return answer, v1alpha1.Convert_v1alpha1_FailoverRequest_To_valkey_FailoverRequest(versioned, answer, nil)
}
