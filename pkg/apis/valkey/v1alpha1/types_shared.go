// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SchedulingSpec says where pods may run and how they spread.
type SchedulingSpec struct {
	// tolerations of the pods.
	// +optional
	// +listType=atomic
	// +k8s:optional
	// +k8s:eachVal=+k8s:opaqueType
	Tolerations []corev1.Toleration `json:"tolerations,omitempty" protobuf:"bytes,1,rep,name=tolerations"`
	// nodeSelector of the pods.
	// +optional
	// +k8s:optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,2,rep,name=nodeSelector"`
	// affinity of the pods.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	Affinity *corev1.Affinity `json:"affinity,omitempty" protobuf:"bytes,3,opt,name=affinity"`
	// topologySpreadConstraints of the pods; those without a labelSelector get the set's own.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +patchMergeKey=topologyKey
	// +patchStrategy=merge
	// +k8s:optional
	// +k8s:listType=map
	// +k8s:listMapKey=topologyKey
	// +k8s:listMapKey=whenUnsatisfiable
	// +k8s:eachVal=+k8s:opaqueType
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty" patchStrategy:"merge" patchMergeKey:"topologyKey" protobuf:"bytes,4,rep,name=topologySpreadConstraints"`
	// priorityClassName of the pods.
	// +optional
	// +k8s:optional
	PriorityClassName string `json:"priorityClassName,omitempty" protobuf:"bytes,5,opt,name=priorityClassName"`
	// node is how the set's pods spread over nodes.
	// +optional
	Node NodePlacement `json:"node,omitempty,omitzero" protobuf:"bytes,6,opt,name=node"`
	// zone is how the set's pods spread over zones, or which zones they are pinned to.
	// +optional
	Zone ZonePlacement `json:"zone,omitempty,omitzero" protobuf:"bytes,7,opt,name=zone"`
}

// SpreadMode says how strictly pods spread.
// +enum
// +k8s:enum
type SpreadMode string

const (
	// SpreadDisabled does not spread.
	SpreadDisabled SpreadMode = "Disabled"
	// SpreadPreferred spreads where it can.
	SpreadPreferred SpreadMode = "Preferred"
	// SpreadRequired leaves a pod pending rather than put two together.
	SpreadRequired SpreadMode = "Required"
)

// NodePlacement is how pods spread over nodes.
type NodePlacement struct {
	// spread of the pods over nodes. Default mode Preferred.
	// +optional
	Spread SpreadSpec `json:"spread,omitempty,omitzero" protobuf:"bytes,1,opt,name=spread"`
}

// ZonePlacement is how pods spread over zones.
type ZonePlacement struct {
	// spread of the pods over zones. Default mode Preferred.
	// +optional
	Spread SpreadSpec `json:"spread,omitempty,omitzero" protobuf:"bytes,1,opt,name=spread"`
	// pinning allows only some zones.
	// +optional
	// +k8s:optional
	Pinning *ZonePinning `json:"pinning,omitempty" protobuf:"bytes,2,opt,name=pinning"`
}

// SpreadSpec is how strictly pods spread.
type SpreadSpec struct {
	// pods is how the set's pods spread.
	// +optional
	Pods PodSpread `json:"pods,omitempty,omitzero" protobuf:"bytes,1,opt,name=pods"`
}

// PodSpread is how a set's pods spread.
type PodSpread struct {
	// mode is Disabled, Preferred (default) or Required.
	// +optional
	// +default="Preferred"
	// +k8s:optional
	Mode SpreadMode `json:"mode,omitempty" protobuf:"bytes,1,opt,name=mode,casttype=SpreadMode"`
}

// ZonePinning allows only some zones.
type ZonePinning struct {
	// zones are values of topology.kubernetes.io/zone in which pods may run.
	// +required
	// +listType=set
	// +k8s:required
	// +k8s:listType=set
	Zones []string `json:"zones" protobuf:"bytes,1,rep,name=zones"`
}

// ExporterSpec is the Prometheus exporter beside each server.
type ExporterSpec struct {
	// enabled runs the exporter. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// image of the exporter. Default: the release this version of the product was tested with.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty" protobuf:"bytes,2,opt,name=image"`
	// args are added to the exporter's command line.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Args []string `json:"args,omitempty" protobuf:"bytes,3,rep,name=args"`
	// resources of the exporter's container.
	// +optional
	// +k8s:opaqueType
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero" protobuf:"bytes,4,opt,name=resources"`
	// securityContext of the exporter's container, merged over the default one.
	// +optional
	// +k8s:optional
	// +k8s:opaqueType
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty" protobuf:"bytes,5,opt,name=securityContext"`
	// serviceMonitor makes a ServiceMonitor for the Prometheus operator, where its CRD exists.
	// +optional
	ServiceMonitor ServiceMonitorSpec `json:"serviceMonitor,omitempty,omitzero" protobuf:"bytes,6,opt,name=serviceMonitor"`
}

// ServiceMonitorSpec is an object of the Prometheus operator.
type ServiceMonitorSpec struct {
	// enabled makes the ServiceMonitor. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// labels of the ServiceMonitor.
	// +optional
	// +k8s:optional
	Labels map[string]string `json:"labels,omitempty" protobuf:"bytes,2,rep,name=labels"`
	// interval between scrapes, such as 30s.
	// +optional
	// +k8s:optional
	Interval string `json:"interval,omitempty" protobuf:"bytes,3,opt,name=interval"`
}

// NetworkingSpec holds TLS and the network policy.
type NetworkingSpec struct {
	// tls encrypts client, replication and Sentinel traffic. A Valkey and the ValkeySentinel that monitors it must both have it, or neither.
	// +optional
	// +k8s:optional
	TLS *TLSSpec `json:"tls,omitempty" protobuf:"bytes,1,opt,name=tls"`
	// networkPolicy makes NetworkPolicies that let in only who is named.
	// +optional
	// +k8s:optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty" protobuf:"bytes,2,opt,name=networkPolicy"`
}

// TLSSpec encrypts traffic.
// +k8s:customValidation
type TLSSpec struct {
	// enabled turns TLS on. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// secretName of a Secret with tls.crt, tls.key and ca.crt, all PEM. Its changes are taken as they come. Not together with certManager.
	// +optional
	// +k8s:optional
	SecretName string `json:"secretName,omitempty" protobuf:"bytes,2,opt,name=secretName"`
	// certManager asks cert-manager for the certificate.
	// +optional
	// +k8s:optional
	CertManager *CertManagerSpec `json:"certManager,omitempty" protobuf:"bytes,3,opt,name=certManager"`
	// allowUnencrypted keeps plaintext on the usual port (6379, Sentinels 26379) beside TLS, so that clients can move without downtime. What servers
	// and Sentinels open themselves is plaintext then. Default false.
	// +optional
	// +k8s:optional
	AllowUnencrypted bool `json:"allowUnencrypted,omitempty" protobuf:"varint,4,opt,name=allowUnencrypted"`
	// port of TLS beside plaintext, and of the Services to the primary and the replicas for TLS. Default 16379, Sentinels 36379. Without
	// allowUnencrypted servers and Sentinels take TLS on the usual port.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	// +k8s:maximum=65535
	Port *int32 `json:"port,omitempty" protobuf:"varint,5,opt,name=port"`
	// clientCertificates says whether clients must show a certificate: Disabled (default), Optional or Required.
	// +optional
	// +default="Disabled"
	// +k8s:optional
	ClientCertificates ClientCertificateMode `json:"clientCertificates,omitempty" protobuf:"bytes,6,opt,name=clientCertificates,casttype=ClientCertificateMode"`
}

// ClientCertificateMode says whether clients must show a certificate.
// +enum
// +k8s:enum
type ClientCertificateMode string

const (
	// ClientCertificatesDisabled asks for none.
	ClientCertificatesDisabled ClientCertificateMode = "Disabled"
	// ClientCertificatesOptional checks one that is shown.
	ClientCertificatesOptional ClientCertificateMode = "Optional"
	// ClientCertificatesRequired refuses clients without one.
	ClientCertificatesRequired ClientCertificateMode = "Required"
)

// CertManagerSpec asks cert-manager for a certificate.
type CertManagerSpec struct {
	// issuerRef names the issuer.
	// +required
	IssuerRef IssuerRef `json:"issuerRef" protobuf:"bytes,1,opt,name=issuerRef"`
	// extraDNSNames are added to the certificate.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	ExtraDNSNames []string `json:"extraDNSNames,omitempty" protobuf:"bytes,2,rep,name=extraDNSNames"`
}

// IssuerRef names an issuer of cert-manager.
type IssuerRef struct {
	// name of the issuer.
	// +required
	// +k8s:required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind of the issuer: Issuer (default) or ClusterIssuer.
	// +optional
	// +default="Issuer"
	// +k8s:optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
	// group of the issuer. Default cert-manager.io.
	// +optional
	// +default="cert-manager.io"
	// +k8s:optional
	Group string `json:"group,omitempty" protobuf:"bytes,3,opt,name=group"`
}

// NetworkPolicySpec makes NetworkPolicies.
type NetworkPolicySpec struct {
	// enabled makes the policies. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty" protobuf:"varint,1,opt,name=enabled"`
	// clients are the pods that may connect: any peer that matches one of them. Empty: every pod of the namespace.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Clients []NetworkPolicyPeer `json:"clients,omitempty" protobuf:"bytes,2,rep,name=clients"`
}

// NetworkPolicyPeer selects pods that may connect.
type NetworkPolicyPeer struct {
	// podLabels of the pods. Empty: all pods of the namespaces.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty" protobuf:"bytes,1,rep,name=podLabels"`
	// namespaceLabels of the namespaces. Empty: this namespace.
	// +optional
	// +k8s:optional
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty" protobuf:"bytes,2,rep,name=namespaceLabels"`
}

// PodDisruptionBudgetMode says whether a budget is kept.
// +enum
// +k8s:enum
type PodDisruptionBudgetMode string

const (
	// PodDisruptionBudgetManaged keeps a PodDisruptionBudget over all pods of the set.
	PodDisruptionBudgetManaged PodDisruptionBudgetMode = "Managed"
	// PodDisruptionBudgetDisabled keeps none.
	PodDisruptionBudgetDisabled PodDisruptionBudgetMode = "Disabled"
)

// PodDisruptionBudgetSpec limits how many pods evictions may take at once.
// +k8s:customValidation
type PodDisruptionBudgetSpec struct {
	// mode is Managed (default) or Disabled.
	// +optional
	// +default="Managed"
	// +k8s:optional
	Mode PodDisruptionBudgetMode `json:"mode,omitempty" protobuf:"bytes,1,opt,name=mode,casttype=PodDisruptionBudgetMode"`
	// maxUnavailable is how many pods, or which percentage of them, may be away at once.
	// Default: 1 for a Valkey, the most that keeps a quorum for a ValkeySentinel.
	// +optional
	// +k8s:optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,2,opt,name=maxUnavailable"`
}
