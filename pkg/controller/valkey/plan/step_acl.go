// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	// overlapSettles is how long after a change of the ACL file the nodes' own word on it may still be about the one before.
	overlapSettles = 15 * time.Second
	// overlapLongest is when a password that was replaced goes although a server has not said that it knows the new one: the kubelets have
	// brought the file by then.
	overlapLongest = 5 * time.Minute
)

// stepACL keeps the servers' ACL file. A user whose passwords cannot be read stays as it was, so that a running instance goes on serving; a
// warning names what is missing. A password that is replaced stays valid until every server knows the new one. Waits for the system passwords. Disrupts nothing.
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
	if retired := p.overlap(in.Previous, acl.File); err == nil && retired != nil {
		in.Keep = retired
		acl, err = desired.NewValkeyACL(in)
	}
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

// overlap are the passwords that are to stay valid for now: where one is replaced, no server may refuse the old one while another does not know
// the new one yet.
func (p *pass) overlap(inForce, wanted string) map[string][]string {
	since := &p.plan.Memory.OverlapSince
	retired, isArriving := desired.RetiredPasswords(inForce, wanted)
	switch {
	case isArriving:
		*since = p.o.Now
		return retired
	case len(retired) == 0:
		*since = time.Time{}
		return nil
	}
	waited := p.o.Now.Sub(*since)
	if p.everyServerHasLoaded() && (since.IsZero() || waited >= overlapSettles) || !since.IsZero() && waited >= overlapLongest {
		*since = time.Time{}
		return nil
	}
	sinceWhen(since, true, p.o.Now)
	return retired
}

// everyServerHasLoaded tells whether the nodes that are up say that their servers have loaded the ACL file; the others load it at their start.
func (p *pass) everyServerHasLoaded() bool {
	for _, n := range p.o.Nodes {
		if isUp(n) && !meta.IsStatusConditionTrue(n.Object.Status.Conditions, v1alpha1.ConditionACLApplied) {
			return false
		}
	}
	return true
}
