// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepWorkload keeps the StatefulSet or Deployment. A change that the pod would have to be restarted for waits, in a node of a Valkey, until
// the Valkey has named its revision. A StatefulSet's template is otherwise kept current (it replaces no pod by itself, and the next pod gets
// the newest agent); a Deployment's is left as it is while its pod runs, since applying it would restart that.
//
// Without its claim, Service or ConfigMap being ours the pod would write to somebody else's volume or have no name: nothing is made then.
func stepWorkload(d *draft) {
	in := desired.NodeInput{Node: d.Node, AgentImage: d.Environment.AgentImage}
	wanted := desired.NodeRevision(d.Node.Spec)
	c := child{kind: KindStatefulSet, name: naming.NodeWorkload(d.Node.Name), build: func() (runtime.ApplyConfiguration, error) {
		return desired.NodeWorkload(in)
	}}
	if d.isDeployment() {
		c.kind = KindDeployment
	}
	d.plan.revision = wanted
	c.live = d.workload()
	if c.live == nil {
		if d.plan.isBlocked(KindClaim, KindService, KindConfigMap) {
			d.logf("waits for what it needs")
			return
		}
		d.keep(c)
		return
	}
	c.isOurs = d.isOurs(c.live)
	inForce := c.live.GetAnnotations()[naming.AnnotationRevision]
	waits := c.isOurs && inForce != wanted && !d.isAuthorised(wanted)
	if waits {
		d.plan.revision, d.plan.pending = inForce, wanted
		d.logf("revision %s waits to be authorised; %s is in force", wanted, inForce)
	}
	if waits || c.kind == KindDeployment && inForce == wanted && !isIdle(d.Pod()) {
		live, _ := c.live.(runtime.Object)
		c.variant, c.build = "kept", func() (runtime.ApplyConfiguration, error) { return desired.NodeWorkloadKept(in, live) }
	}
	d.keep(c)
}

// isAuthorised tells whether a change to the revision may be made. A node that a person made by hand has nobody to ask.
func (o Observed) isAuthorised(revision string) bool {
	return o.Node.Spec.Valkey == "" || o.Node.Spec.WorkloadRevision == revision
}

// stepReplace deletes a pod that is not of the revision in force, once the StatefulSet's own controller has seen the template that is: else it
// would make the old one again. Whether the pod is ready does not matter: one that never started because of a wrong image is replaced too.
// It disrupts the node: the owning Valkey has authorised that. A Deployment replaces its pod itself.
//
// A pod in which nothing has started yet is replaced whenever the template has changed: there is nothing to disrupt, and it would else wait
// for ever for an image that nobody asks for any more.
func stepReplace(d *draft) {
	set := d.Objects.StatefulSet
	if d.isDeployment() || set == nil || !d.isOurs(set) || d.isApplying(KindStatefulSet) || d.plan.isBlocked(KindStatefulSet) {
		return
	}
	if set.DeletionTimestamp != nil || set.Status.ObservedGeneration < set.Generation {
		d.logf("the StatefulSet's controller has not seen the template yet")
		return
	}
	pod := d.Pod()
	if pod == nil || pod.DeletionTimestamp != nil || !metav1.IsControlledBy(pod, set) {
		return
	}
	revision := pod.Annotations[naming.AnnotationRevision]
	switch {
	case revision != d.plan.revision:
		d.do(ReplacePod{Name: pod.Name, UID: pod.UID, Why: "revision " + revision + " is replaced by " + d.plan.revision})
	case isIdle(pod) && isOutdated(pod, set):
		d.do(ReplacePod{Name: pod.Name, UID: pod.UID, Why: "it has not started, and its template is outdated"})
	}
}

// isIdle tells whether nothing has started in a pod, so that its end would disrupt nothing.
func isIdle(pod *corev1.Pod) bool { return pod != nil && pod.Status.Phase == corev1.PodPending }

// isOutdated tells whether the pod was made from another template than the StatefulSet's current one.
func isOutdated(pod *corev1.Pod, set *appsv1.StatefulSet) bool {
	made := pod.Labels[appsv1.ControllerRevisionHashLabelKey]
	return made != "" && set.Status.UpdateRevision != "" && made != set.Status.UpdateRevision
}

func (d *draft) isApplying(kind Kind) bool {
	for _, action := range d.plan.Actions {
		if apply, ok := action.(Apply); ok && apply.Kind == kind {
			return true
		}
	}
	return false
}
