// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepNetworkPolicy keeps the NetworkPolicy, or removes it where the spec does not ask for it. Disrupts nothing of ours: the policy lets in
// everybody who has to do with the Valkey, in one write. Clients that are not among those named are kept out, as was asked.
func stepNetworkPolicy(p *pass) decision {
	name, live := naming.ValkeyNetworkPolicy(p.o.Valkey.Name), p.o.Objects.NetworkPolicy
	want := desired.ValkeyNetworkPolicy(p.o.Valkey, p.o.Environment.SystemNamespace)
	switch {
	case want != nil:
		return child(p, live, Apply{Kind: KindNetworkPolicy, Name: name, Config: want, Secondary: true})
	case live != nil && desired.IsOwnedBy(live, p.o.Valkey):
		return do(Delete{Kind: KindNetworkPolicy, Name: name, UID: live.UID})
	}
	return decision{}
}
