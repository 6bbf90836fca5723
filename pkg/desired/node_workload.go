// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// NodeInput is what the workload of a ValkeyNode is built from.
type NodeInput struct {
	Node *v1alpha1.ValkeyNode
	// AgentImage is a setting of the controller, not of the node.
	AgentImage string
}

// NodeStatefulSet runs the node's pod under a stable name. It never replaces the pod by itself (OnDelete): the controller does that, when
// the owning Valkey has authorised it. So a template that only the product has changed reaches the next pod and restarts none.
func NodeStatefulSet(in NodeInput) (*appsv1ac.StatefulSetApplyConfiguration, error) {
	template, err := PodTemplate(nodePod(in))
	if err != nil {
		return nil, err
	}
	node := in.Node
	return appsv1ac.StatefulSet(naming.NodeWorkload(node.Name), node.Namespace).
		WithLabels(naming.NodeLabels(node.Spec.Valkey, node.Name)).
		WithAnnotations(map[string]string{naming.AnnotationRevision: NodeRevision(node.Spec)}).
		WithOwnerReferences(OwnerReference(KindValkeyNode, node)).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(1).
			WithServiceName(naming.NodeWorkload(node.Name)).
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithRevisionHistoryLimit(2).
			WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(naming.NodeSelector(node.Name))).
			WithTemplate(template)), nil
}

// NodeDeployment runs the node's pod as a cache without a stable pod name. Its host name is stable all the same. A Deployment replaces its
// pod as soon as its template changes, so the template of a running one must only be applied with a new revision: see NodeWorkloadKept.
func NodeDeployment(in NodeInput) (*appsv1ac.DeploymentApplyConfiguration, error) {
	pod := nodePod(in)
	pod.Hostname, pod.Subdomain = naming.NodePod(in.Node.Name), naming.NodeWorkload(in.Node.Name)
	template, err := PodTemplate(pod)
	if err != nil {
		return nil, err
	}
	node := in.Node
	return appsv1ac.Deployment(naming.NodeWorkload(node.Name), node.Namespace).
		WithLabels(naming.NodeLabels(node.Spec.Valkey, node.Name)).
		WithAnnotations(map[string]string{naming.AnnotationRevision: NodeRevision(node.Spec)}).
		WithOwnerReferences(OwnerReference(KindValkeyNode, node)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(1).
			WithRevisionHistoryLimit(2).
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(naming.NodeSelector(node.Name))).
			WithTemplate(template)), nil
}

// NodeWorkload is the node's StatefulSet or Deployment, whichever the spec asks for.
func NodeWorkload(in NodeInput) (runtime.ApplyConfiguration, error) {
	if in.Node.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment {
		return NodeDeployment(in)
	}
	return NodeStatefulSet(in)
}

// NodeWorkloadKept is the node's workload as the spec asks for, except that the live one's pod template and revision stay. It is what may be
// applied while a change of the template waits to be authorised.
func NodeWorkloadKept(in NodeInput, live runtime.Object) (runtime.ApplyConfiguration, error) {
	want, err := NodeWorkload(in)
	if err != nil {
		return nil, err
	}
	ours, err := extracted(live)
	if err != nil {
		return nil, err
	}
	switch want := want.(type) {
	case *appsv1ac.StatefulSetApplyConfiguration:
		if kept, ok := ours.(*appsv1ac.StatefulSetApplyConfiguration); ok && kept.Spec != nil && kept.ObjectMetaApplyConfiguration != nil {
			want.Spec.Template, want.Annotations = kept.Spec.Template, kept.Annotations
			return want, nil
		}
	case *appsv1ac.DeploymentApplyConfiguration:
		if kept, ok := ours.(*appsv1ac.DeploymentApplyConfiguration); ok && kept.Spec != nil && kept.ObjectMetaApplyConfiguration != nil {
			want.Spec.Template, want.Annotations = kept.Spec.Template, kept.Annotations
			return want, nil
		}
	}
	return nil, fmt.Errorf("nothing of the live %T was applied by %s", live, naming.FieldManager)
}
