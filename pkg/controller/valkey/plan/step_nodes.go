// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepNodes makes the nodes that are missing and brings the spec of those that exist up to date. A change that needs a restart only makes a
// node ask for one: see stepRoll. Needs the Secrets and the ConfigMap that nodes mount. Disrupts nothing.
func stepNodes(p *pass) decision {
	var d decision
	for i := range wantedNodes(p.o.Valkey) {
		name := naming.NodeName(p.o.Valkey.Name, i)
		if slices.Contains(p.o.Objects.ForeignNodes, name) {
			d = d.and(foreign(KindNode, name))
			continue
		}
		at := slices.IndexFunc(p.o.Nodes, func(n Node) bool { return n.Index == i })
		if at < 0 {
			if !p.missing {
				spec := desired.ValkeyNodeSpec(p.o.Valkey, "")
				d = d.and(do(Apply{Kind: KindNode, Name: name, Config: desired.ValkeyNode(p.o.Valkey, name, spec), Creates: true}))
			}
			continue
		}
		live := p.o.Nodes[at].Object
		spec := desired.ValkeyNodeSpec(p.o.Valkey, live.Spec.WorkloadRevision)
		if live.DeletionTimestamp == nil && !desired.IsValkeyNode(live, spec) {
			d = d.and(do(Apply{Kind: KindNode, Name: name, Config: desired.ValkeyNode(p.o.Valkey, name, spec)}))
		}
	}
	return d
}
