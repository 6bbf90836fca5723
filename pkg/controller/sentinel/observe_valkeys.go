// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/controller/pastcache"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/selection"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// member is a node, and how to reach it; without an address it cannot be.
type member struct {
	endpoint boot.Endpoint
	target   valkeyclient.Target
	podIPs   []string
}

// observeValkeys finds the Valkeys that the set monitors and those that it leaves to an older one, and returns the nodes of the former by
// the name of the Valkey.
func (r *reconciler) observeValkeys(ctx context.Context, o *observation) (map[string][]member, error) {
	inNamespace := client.InNamespace(o.Set.Namespace)
	var valkeys v1alpha1.ValkeyList
	var sets v1alpha1.ValkeySentinelList
	var nodes v1alpha1.ValkeyNodeList
	for _, list := range []client.ObjectList{&valkeys, &sets, &nodes} {
		if err := r.client.List(ctx, list, inNamespace); err != nil {
			return nil, fmt.Errorf("list %T: %w", list, err)
		}
	}
	all := make([]*v1alpha1.ValkeySentinel, 0, len(sets.Items))
	for i := range sets.Items {
		all = append(all, &sets.Items[i])
	}
	members := map[string][]member{}
	for i := range valkeys.Items {
		valkey := &valkeys.Items[i]
		choice := selection.For(valkey, all)
		switch {
		case choice.Monitor != nil && choice.Monitor.Name == o.Set.Name:
			seen, of, err := r.observeValkey(ctx, valkey, nodes.Items)
			if err != nil {
				return nil, err
			}
			seen.HeldBy = heldBy(valkey, o.Set, all)
			members[valkey.Name] = of
			o.Valkeys = append(o.Valkeys, seen)
		case slices.ContainsFunc(choice.Conflicting, func(set *v1alpha1.ValkeySentinel) bool { return set.Name == o.Set.Name }):
			o.Conflicts = append(o.Conflicts, plan.Conflict{Valkey: valkey.Name, Holder: choice.Monitor.Name})
		}
	}
	slices.SortFunc(o.Valkeys, func(a, b plan.Valkey) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	slices.SortFunc(o.Conflicts, func(a, b plan.Conflict) int { return cmp.Compare(a.Valkey, b.Valkey) })
	return members, nil
}

// heldBy is another set that still monitors the Valkey.
func heldBy(valkey *v1alpha1.Valkey, set *v1alpha1.ValkeySentinel, all []*v1alpha1.ValkeySentinel) string {
	for _, other := range all {
		if other.Name != set.Name && other.DeletionTimestamp == nil && slices.Contains(names(other), valkey.Name) {
			return other.Name
		}
	}
	return ""
}

func (r *reconciler) observeValkey(ctx context.Context, valkey *v1alpha1.Valkey, nodes []v1alpha1.ValkeyNode) (plan.Valkey, []member, error) {
	seen := plan.Valkey{Object: valkey, Monitor: v1alpha1.EffectiveMonitorName(valkey)}
	look := r.children(valkey.Namespace)
	secret := pastcache.Get(ctx, look, naming.SystemPasswordsSecret(valkey.Name), &corev1.Secret{})
	if look.Err() != nil {
		return seen, nil, look.Err()
	}
	operator := ""
	// The passwords of somebody else's Secret are not for the Sentinels.
	if secret != nil && desired.IsOwnedBy(secret, valkey) {
		seen.Password, operator = plan.Secret(secret.Data[naming.UserSentinel]), string(secret.Data[naming.UserOperator])
	}
	var pods corev1.PodList
	err := r.client.List(ctx, &pods, client.InNamespace(valkey.Namespace), client.MatchingLabels(naming.ValkeySelector(valkey.Name)))
	if err != nil {
		return seen, nil, fmt.Errorf("list the pods of Valkey %s: %w", valkey.Name, err)
	}
	var members []member
	for _, node := range nodesOf(valkey, nodes) {
		m := member{endpoint: r.places.Node(valkey.Namespace, node)}
		m.target = r.encryptionOfNode(ctx, node, nodes).On(
			valkeyclient.Target{Name: node, Credentials: valkeyclient.Credentials{Username: naming.UserOperator, Password: operator}})
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Labels[naming.LabelNode] == node && pod.DeletionTimestamp == nil {
				m.target.Address, m.podIPs = r.places.DialNode(pod), desired.PodIPs(pod)
			}
		}
		members = append(members, m)
		seen.Nodes = append(seen.Nodes, m.endpoint)
	}
	return seen, members, nil
}

// nodesOf are the names of a Valkey's nodes, those that are wanted and those that still exist, by index.
func nodesOf(valkey *v1alpha1.Valkey, nodes []v1alpha1.ValkeyNode) []string {
	indices := map[int]bool{}
	for i := range int(valkey.Spec.Replicas) + 1 {
		indices[i] = true
	}
	for i := range nodes {
		if index, ok := naming.NodeIndex(valkey.Name, nodes[i].Name); ok && nodes[i].Spec.Valkey == valkey.Name {
			indices[index] = true
		}
	}
	ordered := make([]int, 0, len(indices))
	for index := range indices {
		ordered = append(ordered, index)
	}
	slices.Sort(ordered)
	names := make([]string, 0, len(ordered))
	for _, index := range ordered {
		names = append(names, naming.NodeName(valkey.Name, index))
	}
	return names
}

// lookAtNodes asks the nodes of those Valkeys about which the Sentinels leave a question open.
func (r *reconciler) lookAtNodes(ctx context.Context, o *observation, members map[string][]member) {
	var asked []inspect.Member
	at := map[string]*topology.Member{}
	for i := range o.Valkeys {
		valkey := &o.Valkeys[i]
		if !plan.NeedsLook(o.Observed, *valkey) {
			continue
		}
		of := members[valkey.Object.Name]
		valkey.Members = make([]topology.Member, len(of))
		for j, m := range of {
			valkey.Members[j] = topology.Member{
				Name: m.endpoint.Name, Reach: topology.Reach{Class: topology.ReachUnreachable, Text: "no pod has an address", When: o.Now},
			}
			place(&valkey.Members[j], m)
			if m.target.Address != "" {
				asked = append(asked, inspect.Member{Target: m.target})
				at[m.endpoint.Name] = &valkey.Members[j]
			}
		}
	}
	if len(asked) == 0 {
		return
	}
	answers := r.inspector().Look(ctx, inspect.Subject{Members: asked})
	for _, answer := range answers.Members {
		address, aliases := at[answer.Name].Address, at[answer.Name].Aliases
		answer.Address, answer.Aliases = address, aliases
		*at[answer.Name] = answer
	}
}

// place says where a member is: at its host name, and, as may be reported, at its pod's address.
func place(of *topology.Member, m member) {
	of.Address = topology.Address{Host: m.endpoint.Host, Port: m.endpoint.Port}
	of.Aliases = m.podIPs
}
