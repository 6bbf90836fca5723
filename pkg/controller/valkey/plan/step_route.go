// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// stepRoute leads clients: the EndpointSlice of the primary's Service, in one write, so that it never holds two; and the role labels of pods.
// Only a confirmed primary is led to. One that is in the slice stays there while the controller cannot reach it, or is refused, and the
// kubelet holds it for ready. Disrupts nothing.
func stepRoute(p *pass) decision {
	d := p.endpoints()
	for _, n := range p.o.Nodes {
		if n.Pod == nil {
			continue
		}
		role, known := p.labelled(n)
		if current := n.Pod.Labels[naming.LabelRole]; known && current != string(role) {
			d = append(d, Apply{Kind: KindPod, Name: n.Pod.Name, Config: desired.PodRole(n.Pod, role), Secondary: true})
		}
	}
	decided := decision{actions: d}
	if live := p.o.Objects.Endpoints; live != nil && !desired.IsOwnedBy(live, p.o.Valkey) {
		return decided.and(foreign(KindEndpointSlice, live.Name))
	}
	return decided
}

// Endpoints is what has to be written so that the primary's Service leads where it should; nothing where it does already.
func Endpoints(o *Observed, verdict Verdict) []Action {
	return (&pass{o: o, verdict: verdict, isApplied: desired.IsApplied}).endpoints()
}

func (p *pass) endpoints() []Action {
	o, verdict := p.o, p.verdict
	live := o.Objects.Endpoints
	pod := primaryPod(o, verdict)
	var family discoveryv1.AddressType
	switch {
	case pod != nil:
		family = desired.RouteFamily(o.Objects.Primary, pod)
	case live == nil:
		// An empty slice would fix the family of its addresses before the first one is known.
		return nil
	default:
		family = live.AddressType
	}
	name := naming.PrimaryEndpointSlice(o.Valkey.Name)
	if live != nil && live.AddressType != family && desired.IsOwnedBy(live, o.Valkey) {
		return []Action{Delete{Kind: KindEndpointSlice, Name: name, UID: live.UID}}
	}
	return child(p, live, Apply{
		Kind: KindEndpointSlice, Name: name, Config: desired.ValkeyPrimaryEndpoints(o.Valkey, pod, family), Secondary: true}).actions
}

// primaryPod is the pod that writes are led to.
func primaryPod(o *Observed, verdict Verdict) *corev1.Pod {
	for _, n := range o.Nodes {
		if n.Object.Name != verdict.Node || n.Pod == nil || n.Pod.Status.PodIP == "" {
			continue
		}
		m, _ := o.Snapshot.Member(verdict.Node)
		if verdict.Confirmed || !m.Answered() && isUp(n) && isRouted(o.Objects.Endpoints, n.Pod) {
			return n.Pod
		}
	}
	return nil
}

func isRouted(slice *discoveryv1.EndpointSlice, pod *corev1.Pod) bool {
	if slice == nil {
		return false
	}
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil && endpoint.TargetRef.UID == pod.UID {
			return true
		}
	}
	return false
}

// labelled is the role that a pod's label shall tell, and false where nobody knows it now and it stays as it is. A node that says it is
// primary and is not gets none: it is neither to be written to nor to be read from.
func (p *pass) labelled(n Node) (v1alpha1.Role, bool) {
	m := p.member(n)
	switch {
	case !m.Reach.OK():
		return "", false
	case n.Object.Name == p.verdict.Node && p.verdict.Confirmed:
		return v1alpha1.RolePrimary, true
	case m.Role == topology.RoleReplica:
		return v1alpha1.RoleReplica, true
	}
	return "", true
}
