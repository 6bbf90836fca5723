// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// CertificateKind is cert-manager's.
var CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// nodesAhead is for how many nodes at a time a Certificate has names. Each node is below a name of its own, which no wildcard spans: with names for
// nodes that are not there yet, scaling needs no new certificate until it goes beyond.
const nodesAhead = 16

// ValkeyCertificate asks cert-manager for the certificate of a Valkey that has, or is to have, so many nodes; nil where the spec does not.
func ValkeyCertificate(valkey *v1alpha1.Valkey, nodes int, clusterDomain string) *unstructured.Unstructured {
	asked := valkey.Spec.Networking.TLS.Asked()
	if asked == nil {
		return nil
	}
	below := "." + valkey.Namespace + ".svc." + clusterDomain
	var names []string
	for _, service := range []string{naming.PrimaryService(valkey.Name), naming.ReplicasService(valkey.Name), naming.ValkeyService(valkey.Name)} {
		names = append(names, serviceNames(service, valkey.Namespace, clusterDomain)...)
	}
	for node := range (nodes + nodesAhead - 1) / nodesAhead * nodesAhead {
		names = append(names, "*."+naming.NodeWorkload(naming.NodeName(valkey.Name, node))+below)
	}
	certificate := certificate(naming.ValkeyCertificate(valkey.Name), asked, names)
	return childOf(certificate, KindValkey, valkey, naming.ValkeyLabels(valkey.Name))
}

// SentinelCertificate asks cert-manager for the certificate of the Sentinels; nil where the spec does not.
func SentinelCertificate(set *v1alpha1.ValkeySentinel, clusterDomain string) *unstructured.Unstructured {
	asked := set.Spec.Networking.TLS.Asked()
	if asked == nil {
		return nil
	}
	service := naming.SentinelWorkload(set.Name)
	names := append(serviceNames(service, set.Namespace, clusterDomain), "*."+service+"."+set.Namespace+".svc."+clusterDomain)
	certificate := certificate(naming.SentinelCertificate(set.Name), asked, names)
	return childOf(certificate, KindValkeySentinel, set, naming.SentinelLabels(set.Name))
}

// serviceNames are all that a Service is called by inside the cluster.
func serviceNames(service, namespace, clusterDomain string) []string {
	below := service + "." + namespace
	return []string{below + ".svc." + clusterDomain, below + ".svc", below, service}
}

// certificate has the Secret that it fills named as itself. Servers show it to each other, so it is one of clients, too.
func certificate(name string, asked *v1alpha1.CertManagerSpec, names []string) *unstructured.Unstructured {
	for _, extra := range asked.ExtraDNSNames {
		if !slices.Contains(names, extra) {
			names = append(names, extra)
		}
	}
	issuer := asked.IssuerRef
	certificate := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"secretName": name,
		"issuerRef":  map[string]any{"name": issuer.Name, "kind": issuer.Kind, "group": issuer.Group},
		"dnsNames":   loose(names),
		"usages":     []any{"server auth", "client auth"},
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
	}}}
	certificate.SetGroupVersionKind(CertificateKind)
	certificate.SetName(name)
	return certificate
}

// childOf puts a child of a kind that is not compiled in beside its owner.
func childOf(child *unstructured.Unstructured, kind string, owner metav1.Object, labels map[string]string) *unstructured.Unstructured {
	child.SetNamespace(owner.GetNamespace())
	child.SetLabels(labels)
	reference := OwnerReference(kind, owner)
	child.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: *reference.APIVersion, Kind: *reference.Kind, Name: *reference.Name, UID: *reference.UID,
		Controller: reference.Controller, BlockOwnerDeletion: reference.BlockOwnerDeletion,
	}})
	return child
}

func loose(words []string) []any {
	list := make([]any, 0, len(words))
	for _, word := range words {
		list = append(list, word)
	}
	return list
}

// Foreign is what is applied of a kind that is not compiled in.
type Foreign struct{ *unstructured.Unstructured }

// IsApplyConfiguration marks it.
func (Foreign) IsApplyConfiguration() {}

// Holds tells whether everything in want is so in live, which may hold more. Lists are compared as a whole.
func Holds(live, want map[string]any) bool {
	for key, wanted := range want {
		inner, isMap := wanted.(map[string]any)
		if found, same := live[key].(map[string]any); isMap && same {
			if !Holds(found, inner) {
				return false
			}
			continue
		}
		if !reflect.DeepEqual(live[key], wanted) {
			return false
		}
	}
	return true
}
