// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepAccess lets the API server read the system passwords of this Valkey: its live subresources log in with them. Disrupts nothing.
func stepAccess(p *pass) decision {
	name := naming.APIServerRole(p.o.Valkey.Name)
	role := child(p, p.o.Objects.Role, Apply{Kind: KindRole, Name: name, Config: desired.ValkeyAccessRole(p.o.Valkey), Secondary: true})
	binding := desired.ValkeyAccessBinding(p.o.Valkey, p.o.Environment.SystemNamespace)
	return role.and(child(p, p.o.Objects.RoleBinding, Apply{Kind: KindRoleBinding, Name: name, Config: binding, Secondary: true}))
}

// stepServices keeps the three Services. Disrupts nothing.
func stepServices(p *pass) decision {
	valkey, objects := p.o.Valkey, p.o.Objects
	d := child(p, objects.Service, Apply{
		Kind: KindService, Name: naming.ValkeyService(valkey.Name), Config: desired.ValkeyService(valkey), Secondary: true})
	d = d.and(child(p, objects.Primary, Apply{
		Kind: KindService, Name: naming.PrimaryService(valkey.Name), Config: desired.ValkeyPrimaryService(valkey), Secondary: true}))
	return d.and(child(p, objects.Replicas, Apply{
		Kind: KindService, Name: naming.ReplicasService(valkey.Name), Config: desired.ValkeyReplicasService(valkey), Secondary: true}))
}

// stepBudget keeps the PodDisruptionBudget, or removes it where the spec switches it off. Disrupts nothing.
func stepBudget(p *pass) decision {
	name, live := naming.ValkeyPDB(p.o.Valkey.Name), p.o.Objects.Budget
	want := desired.ValkeyBudget(p.o.Valkey, max(wantedNodes(p.o.Valkey), len(p.o.Nodes)))
	switch {
	case want != nil:
		return child(p, live, Apply{Kind: KindBudget, Name: name, Config: want, Secondary: true})
	case live != nil && desired.IsOwnedBy(live, p.o.Valkey):
		return do(Delete{Kind: KindBudget, Name: name, UID: live.UID})
	}
	return decision{}
}
