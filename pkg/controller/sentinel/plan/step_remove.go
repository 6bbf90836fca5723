// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// stepRemove has every Sentinel that answers stop to monitor what is not selected any more. A monitor that nobody here asked for, and that
// leads to no node of this namespace, is reported and left alone. Nothing is removed while a failover is in flight for it. It disrupts
// nothing but what is no longer wanted.
func stepRemove(d *draft) {
	wanted := map[string]bool{}
	for _, m := range d.plan.monitors {
		wanted[m.name] = true
	}
	ours := map[string]bool{}
	for _, noted := range d.Noted.Monitors {
		ours[noted.Name] = true
	}
	for _, name := range d.heldNames() {
		if wanted[name] {
			continue
		}
		views := d.views(name)
		if !ours[name] && !d.isNodeAddress(views[0].view.Primary) {
			d.plan.foreign = append(d.plan.foreign, fmt.Sprintf("monitor %s at %s on Sentinel %d is not one of ours and is left alone",
				name, views[0].view.Primary, views[0].index))
			continue
		}
		d.waiting = true
		if i := slices.IndexFunc(views, func(at held) bool { return at.view.FailoverInProgress }); i >= 0 {
			d.block(v1alpha1.ReasonFailoverInProgress, "monitor %s is not removed yet: a failover is in flight on Sentinel %d", name, views[i].index)
			continue
		}
		for _, at := range views {
			d.do(Remove{Sentinel: at.index, Run: at.run, Monitor: name, Why: "no Valkey that this set monitors has it"})
		}
	}
}

// heldNames are the names of all monitors on all Sentinels that answer, sorted.
func (d *draft) heldNames() []string {
	names := map[string]bool{}
	for _, sentinel := range d.Sentinels {
		if sentinel.View.Reach.OK() {
			for name := range sentinel.View.Monitors {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// isNodeAddress tells whether an address has the form of the host name of a node of this namespace, existing or not.
func (d *draft) isNodeAddress(address topology.Address) bool {
	pod, rest, _ := strings.Cut(address.Host, ".")
	node, isPod := strings.CutSuffix(strings.TrimPrefix(pod, naming.NodeWorkload("")), "-0")
	return isPod && rest != "" && address.Host == naming.NodeHost(node, d.Set.Namespace, d.Environment.DNS.ClusterDomain)
}
