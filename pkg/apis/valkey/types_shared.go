// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// SchedulingSpec says where pods may run and how they spread.
type SchedulingSpec struct {
	Tolerations               []corev1.Toleration
	NodeSelector              map[string]string
	Affinity                  *corev1.Affinity
	TopologySpreadConstraints []corev1.TopologySpreadConstraint
	PriorityClassName         string
	Node                      NodePlacement
	Zone                      ZonePlacement
}

// SpreadMode says how strictly pods spread.
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
	Spread SpreadSpec
}

// ZonePlacement is how pods spread over zones.
type ZonePlacement struct {
	Spread  SpreadSpec
	Pinning *ZonePinning
}

// SpreadSpec is how strictly pods spread.
type SpreadSpec struct {
	Pods PodSpread
}

// PodSpread is how a set's pods spread.
type PodSpread struct {
	Mode SpreadMode
}

// ZonePinning allows only some zones.
type ZonePinning struct {
	Zones []string
}

// ExporterSpec is the Prometheus exporter beside each server.
type ExporterSpec struct {
	Enabled         bool
	Image           string
	Args            []string
	Resources       corev1.ResourceRequirements
	SecurityContext *corev1.SecurityContext
	ServiceMonitor  ServiceMonitorSpec
}

// ServiceMonitorSpec is an object of the Prometheus operator.
type ServiceMonitorSpec struct {
	Enabled  bool
	Labels   map[string]string
	Interval string
}

// NetworkingSpec holds TLS and the network policy.
type NetworkingSpec struct {
	TLS           *TLSSpec
	NetworkPolicy *NetworkPolicySpec
}

// TLSSpec encrypts traffic.
type TLSSpec struct {
	Enabled            bool
	SecretName         string
	CertManager        *CertManagerSpec
	AllowUnencrypted   bool
	Port               *int32
	ClientCertificates ClientCertificateMode
}

// ClientCertificateMode says whether clients must show a certificate.
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
	IssuerRef     IssuerRef
	ExtraDNSNames []string
}

// IssuerRef names an issuer of cert-manager.
type IssuerRef struct {
	Name  string
	Kind  string
	Group string
}

// NetworkPolicySpec makes NetworkPolicies.
type NetworkPolicySpec struct {
	Enabled bool
	Clients []NetworkPolicyPeer
}

// NetworkPolicyPeer selects pods that may connect.
type NetworkPolicyPeer struct {
	PodLabels       map[string]string
	NamespaceLabels map[string]string
}

// PodDisruptionBudgetMode says whether a budget is kept.
type PodDisruptionBudgetMode string

const (
	// PodDisruptionBudgetManaged keeps a PodDisruptionBudget over all pods of the set.
	PodDisruptionBudgetManaged PodDisruptionBudgetMode = "Managed"
	// PodDisruptionBudgetDisabled keeps none.
	PodDisruptionBudgetDisabled PodDisruptionBudgetMode = "Disabled"
)

// PodDisruptionBudgetSpec limits how many pods evictions may take at once.
type PodDisruptionBudgetSpec struct {
	Mode           PodDisruptionBudgetMode
	MaxUnavailable *intstr.IntOrString
}
