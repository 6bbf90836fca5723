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
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// nodeSelector of the pods.
	// +optional
	// +k8s:optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// affinity of the pods.
	// +optional
	// +k8s:optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// topologySpreadConstraints of the pods; those without a labelSelector get the set's own.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	// +k8s:optional
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the pods.
	// +optional
	// +k8s:optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// node is how the set's pods spread over nodes.
	// +optional
	// +k8s:optional
	Node NodePlacement `json:"node,omitempty"`
	// zone is how the set's pods spread over zones, or which zones they are pinned to.
	// +optional
	// +k8s:optional
	Zone ZonePlacement `json:"zone,omitempty"`
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
	// +k8s:optional
	Spread SpreadSpec `json:"spread,omitempty"`
}

// ZonePlacement is how pods spread over zones.
type ZonePlacement struct {
	// spread of the pods over zones. Default mode Preferred.
	// +optional
	// +k8s:optional
	Spread SpreadSpec `json:"spread,omitempty"`
	// pinning allows only some zones.
	// +optional
	// +k8s:optional
	Pinning *ZonePinning `json:"pinning,omitempty"`
}

// SpreadSpec is how strictly pods spread.
type SpreadSpec struct {
	// pods is how the set's pods spread.
	// +optional
	// +k8s:optional
	Pods PodSpread `json:"pods,omitempty"`
}

// PodSpread is how a set's pods spread.
type PodSpread struct {
	// mode is Disabled, Preferred (default) or Required.
	// +optional
	// +default="Preferred"
	// +k8s:optional
	Mode SpreadMode `json:"mode,omitempty"`
}

// ZonePinning allows only some zones.
type ZonePinning struct {
	// zones are values of topology.kubernetes.io/zone in which pods may run.
	// +required
	// +listType=set
	// +k8s:required
	// +k8s:listType=set
	Zones []string `json:"zones"`
}

// ExporterSpec is the Prometheus exporter beside each server.
type ExporterSpec struct {
	// enabled runs the exporter. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty"`
	// image of the exporter. Default: the release this version of the product was tested with.
	// +optional
	// +k8s:optional
	Image string `json:"image,omitempty"`
	// args are added to the exporter's command line.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Args []string `json:"args,omitempty"`
	// resources of the exporter's container.
	// +optional
	// +k8s:optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// securityContext of the exporter's container, merged over the default one.
	// +optional
	// +k8s:optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// serviceMonitor makes a ServiceMonitor for the Prometheus operator, where its CRD exists.
	// +optional
	// +k8s:optional
	ServiceMonitor ServiceMonitorSpec `json:"serviceMonitor,omitempty"`
}

// ServiceMonitorSpec is an object of the Prometheus operator.
type ServiceMonitorSpec struct {
	// enabled makes the ServiceMonitor. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty"`
	// labels of the ServiceMonitor.
	// +optional
	// +k8s:optional
	Labels map[string]string `json:"labels,omitempty"`
	// interval between scrapes, such as 30s.
	// +optional
	// +k8s:optional
	Interval string `json:"interval,omitempty"`
}

// NetworkingSpec holds TLS and the network policy.
type NetworkingSpec struct {
	// tls encrypts client, replication and Sentinel traffic.
	// +optional
	// +k8s:optional
	TLS *TLSSpec `json:"tls,omitempty"`
	// networkPolicy makes NetworkPolicies that let in only who is named.
	// +optional
	// +k8s:optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`
}

// TLSSpec encrypts traffic.
type TLSSpec struct {
	// enabled turns TLS on. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty"`
	// secretName of a Secret with tls.crt, tls.key and ca.crt. Not together with certManager.
	// +optional
	// +k8s:optional
	SecretName string `json:"secretName,omitempty"`
	// certManager asks cert-manager for the certificate.
	// +optional
	// +k8s:optional
	CertManager *CertManagerSpec `json:"certManager,omitempty"`
	// allowUnencrypted keeps plaintext on 6379 beside TLS, so that clients can move without downtime. Default false.
	// +optional
	// +k8s:optional
	AllowUnencrypted bool `json:"allowUnencrypted,omitempty"`
	// port of TLS. Default 6379, or 16379 with allowUnencrypted.
	// +optional
	// +k8s:optional
	// +k8s:minimum=1
	Port *int32 `json:"port,omitempty"`
	// clientCertificates says whether clients must show a certificate: Disabled (default), Optional or Required.
	// +optional
	// +default="Disabled"
	// +k8s:optional
	ClientCertificates ClientCertificateMode `json:"clientCertificates,omitempty"`
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
	IssuerRef IssuerRef `json:"issuerRef"`
	// extraDNSNames are added to the certificate.
	// +optional
	// +listType=set
	// +k8s:optional
	// +k8s:listType=set
	ExtraDNSNames []string `json:"extraDNSNames,omitempty"`
}

// IssuerRef names an issuer of cert-manager.
type IssuerRef struct {
	// name of the issuer.
	// +required
	// +k8s:required
	Name string `json:"name"`
	// kind of the issuer: Issuer (default) or ClusterIssuer.
	// +optional
	// +default="Issuer"
	// +k8s:optional
	Kind string `json:"kind,omitempty"`
	// group of the issuer. Default cert-manager.io.
	// +optional
	// +default="cert-manager.io"
	// +k8s:optional
	Group string `json:"group,omitempty"`
}

// NetworkPolicySpec makes NetworkPolicies.
type NetworkPolicySpec struct {
	// enabled makes the policies. Default false.
	// +optional
	// +k8s:optional
	Enabled bool `json:"enabled,omitempty"`
	// clients are the pods that may connect: any peer that matches one of them. Empty: every pod of the namespace.
	// +optional
	// +listType=atomic
	// +k8s:optional
	Clients []NetworkPolicyPeer `json:"clients,omitempty"`
}

// NetworkPolicyPeer selects pods that may connect.
type NetworkPolicyPeer struct {
	// podLabels of the pods. Empty: all pods of the namespaces.
	// +optional
	// +k8s:optional
	PodLabels map[string]string `json:"podLabels,omitempty"`
	// namespaceLabels of the namespaces. Empty: this namespace.
	// +optional
	// +k8s:optional
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
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
type PodDisruptionBudgetSpec struct {
	// mode is Managed (default) or Disabled.
	// +optional
	// +default="Managed"
	// +k8s:optional
	Mode PodDisruptionBudgetMode `json:"mode,omitempty"`
	// maxUnavailable is how many pods, or which percentage of them, may be away at once.
	// Default: 1 for a Valkey, the most that keeps a quorum for a ValkeySentinel.
	// +optional
	// +k8s:optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}
