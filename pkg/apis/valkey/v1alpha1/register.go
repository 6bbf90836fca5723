// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group.
const GroupName = "valkey.io"

// SchemeGroupVersion is the group and this version.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects what registers this version.
	SchemeBuilder      runtime.SchemeBuilder
	localSchemeBuilder = &SchemeBuilder
	// AddToScheme registers the types and defaults of this version.
	AddToScheme = localSchemeBuilder.AddToScheme
)

func init() {
	// The generated files register themselves beside these.
	localSchemeBuilder.Register(addKnownTypes, addDefaultingFuncs, addFieldLabelConversionFuncs)
}

// Resource qualifies a resource with the group.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Valkey{}, &ValkeyList{},
		&ValkeySentinel{}, &ValkeySentinelList{},
		&ValkeyNode{}, &ValkeyNodeList{},
		&Failover{}, &FailoverRequest{},
		&Monitor{}, &MonitorList{},
		&Replication{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
