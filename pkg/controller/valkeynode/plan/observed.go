// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Environment is what the controller was started with.
type Environment struct {
	// AgentImage brings the agent into pods.
	AgentImage string
	// DNS of the cluster, for the agents' resolvers.
	DNS boot.DNS
}

// Observed is one look at a ValkeyNode and everything it is about.
type Observed struct {
	// Now is when the look was finished.
	Now  time.Time
	Node *v1alpha1.ValkeyNode
	// Terminating: the node or its namespace is being deleted, and nothing is to be done.
	Terminating bool
	Environment Environment
	Objects     Objects
	// Missing are Secrets and ConfigMaps that the spec names and that do not exist.
	Missing []Missing
	// Trouble is what the cluster last complained about: events about the pod, or about the workload while there is no pod.
	// Nobody asks for it while the pod is well: see TroubleOf.
	Trouble []Trouble
	// Word is what the agent of a pod that is not ready says is missing. Empty: it does not say.
	Word string
	// Mounted is what the agent says is in its pod, where AwaitsMounts; zero where it does not say.
	Mounted Mounts
	// Server is the look at the server in the pod.
	Server Server
	// Memory is what earlier passes of this process know of this server. It is lost with the process, and nothing depends on it.
	Memory Memory
}

// Objects are the live objects with the names of the node's children, whoever they belong to. Nil: there is none.
type Objects struct {
	StatefulSet *appsv1.StatefulSet
	Deployment  *appsv1.Deployment
	Service     *corev1.Service
	Claim       *corev1.PersistentVolumeClaim
	// ConfigMap is the node's own; not looked for where the spec names another.
	ConfigMap *corev1.ConfigMap
	// Pods carry the node's labels.
	Pods []*corev1.Pod
	// Mounts is what the ConfigMap holds that the pod mounts; zero where there is none.
	Mounts Mounts
	// ACL is the ACL file that the server should have loaded. Empty without spec.usersACLSecretName. It holds password hashes: never log it.
	ACL string
}

// Missing is an object that the spec names and that does not exist.
type Missing struct {
	// Reason is v1alpha1.ReasonSecretMissing or v1alpha1.ReasonConfigMapMissing.
	Reason string
	Name   string
}

// Trouble is a warning event.
type Trouble struct {
	Reason, Message string
}

// Server is the look at one server.
type Server struct {
	// Reach is ReachUnknown when nobody looked, because there is no pod that could answer.
	Reach topology.Reach
	// RunID is another one after each start. Version is the server's.
	RunID, Version string
	Role           topology.Role
	// Primary is whom it follows.
	Primary topology.Address
	// Listeners is where it listens.
	Listeners topology.Listeners
	// Config is what the server says of the live directives, by name; nil when it could not be asked.
	Config map[string]string
	// ACL is what the server says of its users, a line each; nil when it could not be asked. It holds password hashes: never log it.
	ACL []string
}

// Pod is the node's current pod: the newest that is not going, else the newest. Nil: there is none.
func (o Observed) Pod() *corev1.Pod {
	var current *corev1.Pod
	for _, pod := range o.Objects.Pods {
		if current == nil || newer(pod, current) {
			current = pod
		}
	}
	return current
}

func newer(a, b *corev1.Pod) bool {
	if (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) {
		return a.DeletionTimestamp == nil
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return a.Name < b.Name
}

// workload is the live workload of the kind that the spec asks for; nil for none.
func (o Observed) workload() metav1.Object {
	if o.isDeployment() {
		if o.Objects.Deployment == nil {
			return nil
		}
		return o.Objects.Deployment
	}
	if o.Objects.StatefulSet == nil {
		return nil
	}
	return o.Objects.StatefulSet
}

func (o Observed) isDeployment() bool {
	return o.Node.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment
}

// Answers tells whether a pod can be asked at all: its server's container runs and it has an address.
func Answers(pod *corev1.Pod) bool {
	if pod == nil || pod.Status.PodIP == "" {
		return false
	}
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		return status.Name == containerServer && status.State.Running != nil
	})
}

// IsReady tells whether a pod is ready and stays.
func IsReady(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
