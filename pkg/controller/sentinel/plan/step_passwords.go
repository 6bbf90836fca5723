// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepPasswords has a password drawn for each of the product's own users on the Sentinels that has none.
// It disrupts nothing: a password that exists is never replaced.
func stepPasswords(d *draft) {
	live := d.Objects.Passwords
	if !isMine(d, KindSecret, live) {
		return
	}
	action := GeneratePasswords{Name: naming.SentinelPasswordsSecret(d.Set.Name)}
	for _, user := range systemUsers() {
		if live == nil || len(live.Data[user]) == 0 {
			action.Users = append(action.Users, user)
		}
	}
	if len(action.Users) == 0 {
		return
	}
	if live != nil {
		action.Version = live.ResourceVersion
	}
	d.do(action)
	d.waiting = true
	d.block(v1alpha1.ReasonStarting, "passwords of the product's own users are being drawn")
}

// password of one of the product's own users on the Sentinels; empty while it is not drawn, or not ours.
func (d *draft) password(user string) string {
	if d.Objects.Passwords == nil || !isOwned(d, d.Objects.Passwords) {
		return ""
	}
	return string(d.Objects.Passwords.Data[user])
}
