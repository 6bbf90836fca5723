// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Secret is a password. It is not printed by any fmt verb.
type Secret string

// Format writes asterisks, whatever the verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte("***")) }

// MarshalJSON keeps structured logs from writing the password.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// Environment is what the controller was started with.
type Environment struct {
	// AgentImage brings the agent into pods.
	AgentImage string
	// DNS of the cluster, for the agents' resolvers.
	DNS boot.DNS
	// SystemNamespace is where the controller and the API server run.
	SystemNamespace string
}

// Observed is one look at a ValkeySentinel and everything it is about.
type Observed struct {
	// Now is when the look was finished.
	Now time.Time
	// Set is the ValkeySentinel.
	Set *v1alpha1.ValkeySentinel
	// Terminating: the set or its namespace is being deleted, and nothing is to be done.
	Terminating bool
	Environment Environment
	Objects     Objects
	// Noted are the boot settings in force: NotedSettings of Objects.Boot.
	Noted boot.Sentinel
	// Valkeys are those that this set monitors, sorted by name.
	Valkeys []Valkey
	// Conflicts are those that it selects and that an older set monitors, sorted by name.
	Conflicts []Conflict
	// Sentinels are by index, the look at index i under [i]. There is one for each that is wanted or exists.
	Sentinels []Sentinel
	// Memory is what earlier passes of this process know and no Sentinel tells.
	Memory Memory
	// Certificate is what the Secret that the spec asks for holds.
	Certificate desired.Certificate
	// Issuance is the Certificate by which cert-manager is asked to fill that Secret, or was.
	Issuance desired.Issuance
	// Settled is Plan.Settled of the last pass, to save comparing what has not changed.
	Settled map[string]string
}

// Objects are the live children. Nil: there is none.
type Objects struct {
	// Passwords holds the passwords of the product's own users, Boot the settings and ACL file for the agents.
	Passwords, Boot *corev1.Secret
	Service         *corev1.Service
	Workload        *appsv1.StatefulSet
	Budget          *policyv1.PodDisruptionBudget
	NetworkPolicy   *networkingv1.NetworkPolicy
	Role            *rbacv1.Role
	RoleBinding     *rbacv1.RoleBinding
	// Pods of the workload, by name.
	Pods map[string]*corev1.Pod
	// UserSecrets are the Secrets that spec.users names, by name; those that do not exist are absent.
	UserSecrets map[string]*corev1.Secret
}

// Valkey is a Valkey that the set monitors.
type Valkey struct {
	Object *v1alpha1.Valkey
	// Monitor is its monitor name.
	Monitor string
	// Password of the Sentinels on its nodes. Empty: not known yet.
	Password Secret
	// Nodes are the hosts of its nodes, existing or wanted, by index.
	Nodes []boot.Endpoint
	// HeldBy is another ValkeySentinel that still monitors it, and from which it is to be taken over; empty for none.
	HeldBy string
	// Members is the look at its nodes. Nil: nobody looked, because the Sentinels agree and nothing is amiss.
	Members []topology.Member
}

// Conflict is a Valkey that is selected and left alone.
type Conflict struct {
	Valkey string
	// Holder is the ValkeySentinel that monitors it.
	Holder string
}

// Sentinel is the look at one Sentinel.
type Sentinel struct {
	View topology.SentinelView
	// Run identifies the running process: another one after each start.
	Run string
	// Uptime of the process.
	Uptime time.Duration
	// Version is Valkey's.
	Version string
	// Served is the serial number of the certificate that it shows; empty where that is not known.
	Served string
	// Tilt: the process distrusts its clock and acts on nothing.
	Tilt bool
}
