// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepACL keeps the servers' ACL file. A user whose passwords cannot be read stays as it was, so that a running instance goes on serving; a
// warning names what is missing. Waits for the system passwords. Disrupts nothing.
func stepACL(p *pass) decision {
	if p.missing {
		return decision{}
	}
	in := desired.ValkeyACLInput{
		Users:           p.o.Valkey.Spec.Users,
		SystemPasswords: map[string]string{},
		Secrets:         map[string]map[string][]byte{},
	}
	for _, user := range naming.SystemUsers() {
		in.SystemPasswords[user] = string(p.o.Objects.Passwords.Data[user])
	}
	for name, secret := range p.o.Objects.UserSecrets {
		in.Secrets[name] = secret.Data
	}
	live := p.o.Objects.ACL
	if live != nil {
		in.Previous = string(live.Data[naming.KeyACL])
	}
	acl, err := desired.NewValkeyACL(in)
	if err != nil {
		p.missing = p.missing || live == nil
		return blocked(v1alpha1.ReasonInvalidUser, err.Error())
	}
	name := naming.ACLSecret(p.o.Valkey.Name)
	d := child(p, live, Apply{Kind: KindSecret, Name: name, Config: desired.ValkeyACLSecret(p.o.Valkey, acl.File)})
	p.missing = p.missing || len(d.blocked) > 0
	for _, missing := range acl.Missing {
		d.warnings = append(d.warnings, Blocked{Reason: v1alpha1.ReasonSecretMissing, Message: missing})
	}
	for _, invalid := range acl.Invalid {
		d.warnings = append(d.warnings, Blocked{Reason: v1alpha1.ReasonInvalidUser, Message: invalid})
	}
	return d
}
