// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"encoding/json"
	"fmt"
)

// Endpoint is a process that can be reached by name.
type Endpoint struct {
	// Name of the ValkeyNode or Sentinel pod.
	Name string `json:"name"`
	// Host is its stable host name.
	Host string `json:"host"`
	// Port it listens on.
	Port int `json:"port"`
}

// DNS is what the agent's stub resolver needs.
type DNS struct {
	// Upstreams are the cluster's DNS servers, as IP or IP:port.
	Upstreams []string `json:"upstreams"`
	// ClusterDomain, such as cluster.local.
	ClusterDomain string `json:"clusterDomain"`
}

// TLS is how a server or Sentinel listens where the pod has a certificate. A pod without one listens in plaintext, whatever is said here: it is
// on its way in or out.
type TLS struct {
	// Port of TLS while Plaintext has the usual one. Without Plaintext TLS has the usual port, and what the process opens itself is TLS too.
	Port int `json:"port,omitempty"`
	// Plaintext is served beside TLS.
	Plaintext bool `json:"plaintext,omitempty"`
	// ClientCertificates is how Valkey calls what is asked of clients: no, optional or yes.
	ClientCertificates string `json:"clientCertificates"`
}

// Node is what the agent of a data node must know before the server starts. It holds no secret.
type Node struct {
	Namespace string `json:"namespace"`
	// Valkey is empty for a node made by hand, which is a primary for ever.
	Valkey string `json:"valkey,omitempty"`
	// Mode is the failover mode: None, Operator or Sentinel.
	Mode string `json:"mode,omitempty"`
	// Members are all nodes of the Valkey, this one included, in the order of their index.
	Members []Endpoint `json:"members,omitempty"`
	// MonitorName is the name to ask the Sentinels for, with mode Sentinel.
	MonitorName string `json:"monitorName,omitempty"`
	// Sentinels that monitor the Valkey. Empty while none does.
	Sentinels []Endpoint `json:"sentinels,omitempty"`
	// Primary is the node that was primary when the controller last looked: a hint. Empty before there ever was one.
	Primary string `json:"primary,omitempty"`
	// Persistent is whether the data directory is a volume that outlives the pod.
	Persistent bool `json:"persistent,omitempty"`
	// TLS is nil for plaintext.
	TLS *TLS `json:"tls,omitempty"`
	// DNS of the cluster.
	DNS DNS `json:"dns"`
}

// Monitor is one Valkey that a Sentinel watches. It holds a password and belongs in a Secret.
type Monitor struct {
	Name string `json:"name"`
	// Host and Port of the primary when the controller last looked; what the peers say now goes before it.
	Host string `json:"host"`
	Port int    `json:"port"`
	// Members are the hosts of all nodes, for the resolver to remember.
	Members []Endpoint `json:"members,omitempty"`
	Quorum  int        `json:"quorum"`
	// AuthUser and AuthPass log the Sentinel in on the data nodes.
	AuthUser string `json:"authUser"`
	AuthPass string `json:"authPass"`
	// Settings are per-monitor directives, such as down-after-milliseconds.
	Settings map[string]string `json:"settings,omitempty"`
}

// Sentinel is what the agent of a Sentinel must know. It holds passwords and belongs in a Secret.
type Sentinel struct {
	Namespace string `json:"namespace"`
	// Set is the ValkeySentinel and SetUID its uid, from which each Sentinel's id is derived.
	Set    string `json:"set"`
	SetUID string `json:"setUID"`
	// Peers are all Sentinels of the set, this one included.
	Peers []Endpoint `json:"peers"`
	// PeerUser and PeerPass log a Sentinel in on its peers.
	PeerUser string `json:"peerUser"`
	PeerPass string `json:"peerPass"`
	// Config are process-wide directives of sentinel.conf.
	Config map[string]string `json:"config,omitempty"`
	// Monitors that this set watches.
	Monitors []Monitor `json:"monitors,omitempty"`
	// TLS is nil for plaintext.
	TLS *TLS `json:"tls,omitempty"`
	// DNS of the cluster.
	DNS DNS `json:"dns"`
}

// Encode is the settings as stable JSON.
func Encode[T Node | Sentinel](settings T) (string, error) {
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode boot settings: %w", err)
	}
	return string(text) + "\n", nil
}

// Decode reads what Encode wrote. Unknown fields are skipped: a newer controller may serve an older agent.
func Decode[T Node | Sentinel](text []byte) (T, error) {
	var settings T
	if err := json.Unmarshal(text, &settings); err != nil {
		// The text may hold passwords: the error must not quote it.
		return settings, fmt.Errorf("decode boot settings: not the expected JSON")
	}
	return settings, nil
}
