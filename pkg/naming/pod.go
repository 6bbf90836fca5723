// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

// Ports.
const (
	// PortValkey is where data nodes listen.
	PortValkey = 6379
	// PortSentinel is where Sentinels listen.
	PortSentinel = 26379
	// PortValkeyTLS and PortSentinelTLS are where they listen for TLS while plaintext has the usual port, unless the spec says otherwise.
	PortValkeyTLS   = 16379
	PortSentinelTLS = 36379
	// PortAgent is where the agent answers probes over HTTP.
	PortAgent = 8379
	// PortExporter is where the exporter answers.
	PortExporter = 9121

	PortNameValkey      = "valkey"
	PortNameValkeyTLS   = "valkey-tls"
	PortNameSentinel    = "sentinel"
	PortNameSentinelTLS = "sentinel-tls"
	PortNameAgent       = "agent"
	PortNameExporter    = "metrics"
)

// Containers.
const (
	ContainerServer   = "server"
	ContainerSentinel = "sentinel"
	ContainerExporter = "metrics-exporter"
	// ContainerAgent is the init container that brings the agent's binary into the pod.
	ContainerAgent = "agent"
)

// The product's own users. On data nodes: operator, replication, sentinel, exporter, apiserver, agent. On Sentinels: operator,
// peer, apiserver, agent.
const (
	UserOperator    = "_operator"
	UserReplication = "_replication"
	UserSentinel    = "_sentinel"
	UserExporter    = "_exporter"
	UserAPIServer   = "_apiserver"
	UserAgent       = "_agent"
	UserPeer        = "_peer"
)

// KeySentinelAgent is the key, in a Valkey's system-password Secret, of the password with which its agents log in to the
// Sentinels that monitor it. It is absent while none does.
const KeySentinelAgent = "sentinel_agent"

// Paths in the pods and keys in their ConfigMaps and Secrets.
const (
	// AgentDir is where the init container puts the agent's binary.
	AgentDir = "/valkey-agent"
	// AgentBinary is the agent's binary, the command of the server and sentinel containers.
	AgentBinary = AgentDir + "/valkey-agent"
	// ConfigDir holds KeyBoot and KeyServerConfig (data node), or KeyBoot and KeyACL (Sentinel).
	ConfigDir = "/etc/valkey/config"
	// ACLDir holds KeyACL on data nodes.
	ACLDir = "/etc/valkey/acl"
	// PasswordsDir holds a file per system user on data nodes.
	PasswordsDir = "/etc/valkey/passwords"
	// TLSDir holds KeyCertificate, KeyPrivateKey and KeyCA where the pod has TLS.
	TLSDir = "/etc/valkey/tls"
	// RunDir is a memory-backed directory for what the agent renders, secrets among it.
	RunDir = "/run/valkey"
	// RunTLSDir is where the agent puts the certificate that is served: what is mounted, once it was found to be usable.
	RunTLSDir = RunDir + "/tls"
	// DataDir is the server's working directory: the volume, or an emptyDir without persistence.
	DataDir = "/data"
	// SentinelDir is where a Sentinel keeps its file.
	SentinelDir = "/var/lib/sentinel"

	// KeyBoot is the boot settings, JSON of package boot.
	KeyBoot = "boot.json"
	// KeyServerConfig is the server's configuration, without what the agent adds.
	KeyServerConfig = "valkey.conf"
	// KeyACL is the ACL file.
	KeyACL = "users.acl"

	// KeyCertificate, KeyPrivateKey and KeyCA are the keys of a Secret for TLS: the server's certificate with its chain, its key, and the
	// authorities that are believed. All are PEM.
	KeyCertificate = "tls.crt"
	KeyPrivateKey  = "tls.key"
	KeyCA          = "ca.crt"
)

// Environment of the agent.
const (
	EnvNode = "VALKEY_NODE"
	// EnvGracePeriod is the pod's terminationGracePeriodSeconds, for an agent that may take all of it.
	EnvGracePeriod  = "VALKEY_GRACE_PERIOD_SECONDS"
	EnvPodName      = "POD_NAME"
	EnvPodNamespace = "POD_NAMESPACE"
	EnvPodIP        = "POD_IP"
)

// SystemUsers are the product's own users on data nodes.
func SystemUsers() []string {
	return []string{UserAgent, UserAPIServer, UserExporter, UserOperator, UserReplication, UserSentinel}
}

// SentinelSystemUsers are the product's own users on Sentinels.
func SentinelSystemUsers() []string {
	return []string{UserAgent, UserAPIServer, UserOperator, UserPeer}
}

// The product's own installation.
const (
	SystemNamespace         = "valkey-system"
	APIServerServiceAccount = "valkey-apiserver"
	APIServerService        = "valkey-apiserver"
	APIServerCertSecret     = "valkey-apiserver-serving-cert"
	APIServiceName          = "v1alpha1.valkey.io"
	// ControllerName and APIServerName are the label LabelName of the installation's own pods.
	ControllerName = "valkey-controller"
	APIServerName  = "valkey-apiserver"
	// FieldManager writes everything the controller applies.
	FieldManager = "valkey-controller"
)
