// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Environment is what the controller was started with.
type Environment struct {
	// SystemNamespace is where the controller and the API server run.
	SystemNamespace string
	// DNS of the cluster, for the agents' resolvers and for the members' host names.
	DNS boot.DNS
}

// Observed is one look at a Valkey and everything it is about. Nothing in it is changed by planning.
type Observed struct {
	// Now is when the look was finished.
	Now time.Time
	// Valkey is the object.
	Valkey *v1alpha1.Valkey
	// Terminating: the object or its namespace is being deleted, and nothing is to be done.
	Terminating bool
	Environment Environment
	Objects     Objects
	// Nodes are those that exist under a name of ours, by index, and Leaving the pods of ours whose node is gone.
	Nodes   []Node
	Leaving []*corev1.Pod
	// Monitoring is who monitors the Valkey.
	Monitoring Monitoring
	// Snapshot has one member for each node of ours that exists, and one view for each Sentinel of the set that monitors.
	Snapshot topology.Snapshot
	// Certificate is what the Secret that the spec asks for holds. Served is the serial number of the certificate that each node's server shows, by
	// node, as far as it was asked.
	Certificate desired.Certificate
	Served      map[string]string
	// Issuance is the Certificate by which cert-manager is asked to fill that Secret, or was.
	Issuance desired.Issuance
	// Memory is what earlier passes of this process know.
	Memory Memory
}

// Objects are the live children besides the nodes. Nil: there is none.
type Objects struct {
	// Passwords holds the passwords of the product's own users, PasswordsCopy the same, ACL the servers' ACL file.
	Passwords, PasswordsCopy, ACL *corev1.Secret
	Config                        *corev1.ConfigMap
	// Service is over all members, Primary and Replicas lead to those.
	Service, Primary, Replicas *corev1.Service
	Endpoints                  *discoveryv1.EndpointSlice
	Budget                     *policyv1.PodDisruptionBudget
	NetworkPolicy              *networkingv1.NetworkPolicy
	Role                       *rbacv1.Role
	RoleBinding                *rbacv1.RoleBinding
	// UserSecrets are the Secrets that spec.users names, by name; those that do not exist are absent.
	UserSecrets map[string]*corev1.Secret
	// ForeignNodes are ValkeyNodes with a name of ours that are not.
	ForeignNodes []string
}

// Node is a ValkeyNode that exists, and its pod.
type Node struct {
	Index  int
	Object *v1alpha1.ValkeyNode
	// Pod is nil where there is none.
	Pod *corev1.Pod
}

// Monitoring is who monitors the Valkey. The zero value: nobody.
type Monitoring struct {
	// Set is the ValkeySentinel that monitors, Conflicting the names of others that select the Valkey too.
	Set         *v1alpha1.ValkeySentinel
	Conflicting []string
	// AgentPassword logs the agents in to the Sentinels. Empty: not known yet.
	AgentPassword Secret
}

// ServedBy is a certificate that the server in a pod was seen to serve.
type ServedBy struct {
	Pod    types.UID
	Serial string
}

// Memory is what a process of the controller knows from earlier passes and nobody tells. It is lost with the process; without it
// everything takes a little longer, and nothing becomes unsafe.
type Memory struct {
	// Primary is the one that was last told of.
	Primary string
	// AwaySince is since when the primary has not been seen to serve; zero while it is.
	AwaySince time.Time
	// BehindSince is since when the Sentinels name a node that follows the primary; zero while they do not.
	BehindSince time.Time
	// Led is the node that the primary's Service leads to. Left is the one that it led to before, until LeftAt and as long as clients that stayed
	// with it have not been cut off.
	Led, Left string
	LeftAt    time.Time
	// OverlapSince is since when passwords that were replaced are kept valid beside the new ones; zero while none are.
	OverlapSince time.Time
	// PrimaryKeys is how many keys the primary held when it was last seen. PrimaryKnown is false before that.
	PrimaryKnown bool
	PrimaryKeys  int64
	// PrimaryHistory is the replication id of PrimaryHistoryOf when that was last seen to be the primary.
	PrimaryHistory, PrimaryHistoryOf string
	// Rolling is the node that was last allowed to replace its pod, by one of RollingRevision, since RollingSince, until it is back.
	Rolling, RollingRevision string
	RollingSince             time.Time
	// IncompleteSince is since when each node that follows the primary has held no complete copy, by node.
	IncompleteSince map[string]time.Time
	// Astray is what was wrong with whom a node follows, by node, in the last look.
	Astray map[string]string
	// Served is which certificate each node was last seen to serve, by node, and in which pod.
	Served map[string]ServedBy
	// Passwords are the system passwords that were last seen: a Secret that is lost is made again with them.
	Passwords map[string]Secret
}
