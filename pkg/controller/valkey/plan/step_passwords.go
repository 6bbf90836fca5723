// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepPasswords keeps the Secret with the passwords of the product's own users: each drawn once and never again while it is there. One that
// was lost is made again with what was last seen in it. The password with which agents log in to the Sentinels is copied into it while the
// Valkey is monitored. Disrupts nothing; without the Secret nothing that needs it is made.
func stepPasswords(p *pass) decision {
	live := p.o.Objects.Passwords
	write := WritePasswords{Name: naming.SystemPasswordsSecret(p.o.Valkey.Name), Keep: map[string]Secret{}}
	held := map[string]Secret{}
	if live == nil {
		p.missing = true
		write.Recovers = len(p.o.Nodes) > 0
	} else {
		if !desired.IsOwnedBy(live, p.o.Valkey) {
			p.missing = true
			return foreign(KindSecret, write.Name)
		}
		write.Version = live.ResourceVersion
		for key, value := range live.Data {
			held[key] = Secret(value)
		}
	}
	for _, user := range naming.SystemUsers() {
		switch remembered := p.o.Memory.Passwords[user]; {
		case held[user] != "":
		case remembered != "":
			write.Keep[user] = remembered
			p.missing = true
		default:
			write.Draw = append(write.Draw, user)
			p.missing = true
		}
	}
	if p.o.Monitoring.AgentPassword != "" && held[naming.KeySentinelAgent] != p.o.Monitoring.AgentPassword {
		write.Keep[naming.KeySentinelAgent] = p.o.Monitoring.AgentPassword
	}
	write.Drop = held[naming.KeySentinelAgent] != "" && !p.isMonitored()
	if !p.missing {
		p.plan.Memory.Passwords = maps.Clone(held)
		delete(p.plan.Memory.Passwords, naming.KeySentinelAgent)
	}
	if len(write.Draw)+len(write.Keep) == 0 && !write.Drop {
		return decision{}
	}
	return do(write)
}

// isMonitored tells whether a ValkeySentinel monitors the Valkey.
func (p *pass) isMonitored() bool {
	return p.o.Monitoring.Set != nil && p.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel
}
