// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	valkeyv1alpha1ac "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// ValkeyNodeSpec is what a Valkey wants of each of its nodes. workloadRevision is what it has authorised the node to restart for.
func ValkeyNodeSpec(valkey *v1alpha1.Valkey, workloadRevision string) v1alpha1.ValkeyNodeSpec {
	spec := &valkey.Spec
	node := v1alpha1.ValkeyNodeSpec{
		Valkey:                        valkey.Name,
		Image:                         spec.Image,
		ImagePullSecrets:              spec.ImagePullSecrets,
		WorkloadType:                  spec.WorkloadType,
		Resources:                     spec.Resources,
		Scheduling:                    spec.Scheduling,
		Persistence:                   spec.Persistence,
		Exporter:                      spec.Exporter,
		ServerConfigMapName:           naming.ServerConfigMap(valkey.Name),
		UsersACLSecretName:            naming.ACLSecret(valkey.Name),
		SystemPasswordsSecretName:     naming.SystemPasswordsSecret(valkey.Name),
		TLS:                           spec.Networking.TLS,
		Containers:                    spec.Containers,
		Config:                        ValkeySettings(valkey),
		PodSecurityContext:            spec.PodSecurityContext,
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
		PodLabels:                     spec.PodLabels,
		PodAnnotations:                spec.PodAnnotations,
		WorkloadRevision:              workloadRevision,
	}
	return *node.DeepCopy()
}

// ValkeyNode is a node of a Valkey.
func ValkeyNode(valkey *v1alpha1.Valkey, name string, spec v1alpha1.ValkeyNodeSpec) *valkeyv1alpha1ac.ValkeyNodeApplyConfiguration {
	applied := valkeyv1alpha1ac.ValkeyNodeSpec()
	overlay(applied, spec)
	return valkeyv1alpha1ac.ValkeyNode(name, valkey.Namespace).
		WithLabels(naming.NodeLabels(valkey.Name, name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithSpec(applied)
}

// IsValkeyNode tells whether a live node already is as ValkeyNode would make it. All of the spec is the Valkey's, so that whole specs are
// compared, as the API completes them: what an apply owns inside a defaulted structure cannot be told from its defaults.
func IsValkeyNode(live *v1alpha1.ValkeyNode, spec v1alpha1.ValkeyNodeSpec) bool {
	want := &v1alpha1.ValkeyNode{Spec: *spec.DeepCopy()}
	v1alpha1.SetObjectDefaults_ValkeyNode(want)
	for key, value := range naming.NodeLabels(spec.Valkey, live.Name) {
		if live.Labels[key] != value {
			return false
		}
	}
	return apiequality.Semantic.DeepEqual(live.Spec, want.Spec)
}

func ownerReference(valkey *v1alpha1.Valkey, isController, blocks *bool) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: KindValkey, Name: valkey.Name, UID: valkey.UID,
		Controller: isController, BlockOwnerDeletion: blocks,
	}
}
