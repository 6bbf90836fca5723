// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepConfig keeps the ConfigMap with the nodes' boot settings and configuration. The primary in it is a hint: it changes when another node
// is seen to be primary, and stays while nobody is. Disrupts nothing.
func stepConfig(p *pass) decision {
	in := desired.ValkeyBoot{Primary: p.hint(), DNS: p.o.Environment.DNS}
	if p.isMonitored() {
		in.Sentinels = p.o.Monitoring.Set
	}
	// Surplus nodes stay among the members until they are gone: one of them may be the primary.
	count := wantedNodes(p.o.Valkey)
	for _, n := range p.surplus() {
		count = max(count, n.Index+1)
	}
	for i := range count {
		in.Nodes = append(in.Nodes, naming.NodeName(p.o.Valkey.Name, i))
	}
	name := naming.ServerConfigMap(p.o.Valkey.Name)
	config, err := desired.ValkeyConfigMap(p.o.Valkey, in)
	if err != nil {
		p.missing = p.missing || p.o.Objects.Config == nil
		return blocked(v1alpha1.ReasonUnwiseConfiguration, err.Error())
	}
	d := child(p, p.o.Objects.Config, Apply{Kind: KindConfigMap, Name: name, Config: config})
	p.missing = p.missing || len(d.blocked) > 0
	return d
}

// hint is the node that nodes which start are told was primary last.
func (p *pass) hint() string {
	if p.verdict.Confirmed || p.verdict.BySentinels && p.verdict.Node != "" && !p.verdict.InFlight {
		return p.verdict.Node
	}
	return recorded(p.o)
}
