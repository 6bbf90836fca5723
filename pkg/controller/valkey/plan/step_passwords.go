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
// was lost is made again as it was, from memory or from its copy: the servers know no others. The password with which agents log in to the Sentinels is copied into it while the
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
		switch remembered := p.remembered(user); {
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
	if len(write.Draw)+len(write.Keep) > 0 || write.Drop {
		return do(write)
	}
	p.plan.Memory.Passwords = held
	return p.copyPasswords()
}

// copyPasswords keeps the copy of the Secret. The agents' password on the Sentinels is a copy itself.
func (p *pass) copyPasswords() decision {
	passwords := maps.Clone(p.o.Objects.Passwords.Data)
	delete(passwords, naming.KeySentinelAgent)
	return child(p, p.o.Objects.PasswordsCopy, Apply{
		Kind: KindSecret, Name: naming.SystemPasswordsCopy(p.o.Valkey.Name), Config: desired.ValkeyPasswordsCopy(p.o.Valkey, passwords), Secondary: true})
}

// remembered is the password that the user had when it was last seen, by this process or by the copy; empty if it never was.
func (p *pass) remembered(user string) Secret {
	if password := p.o.Memory.Passwords[user]; password != "" {
		return password
	}
	if saved := p.o.Objects.PasswordsCopy; saved != nil && desired.IsOwnedBy(saved, p.o.Valkey) {
		return Secret(saved.Data[user])
	}
	return ""
}

// isMonitored tells whether a ValkeySentinel monitors the Valkey.
func (p *pass) isMonitored() bool {
	return p.o.Monitoring.Set != nil && p.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel
}
