// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package credential

import (
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Plane is what an account logs in to.
type Plane string

// The planes.
const (
	Data     Plane = "data"
	Sentinel Plane = "sentinel"
)

// Account is a user, and where its password is.
type Account struct {
	Plane Plane  `json:"plane"`
	User  string `json:"user"`
	// Secret and Keys hold the password: every key a valid one, or all keys of the Secret where Keys is empty. Without a Secret none is needed,
	// or nobody can log in.
	Secret string   `json:"secret,omitempty"`
	Keys   []string `json:"keys,omitempty"`
	// Open: no password is asked for.
	Open bool `json:"open,omitempty"`
	// System: the product's own.
	System bool `json:"system,omitempty"`
	// Unusable says why nobody can log in.
	Unusable string `json:"unusable,omitempty"`
}

// OfValkey are the users of a Valkey's servers, in the order of the spec, and with system the product's own.
func OfValkey(valkey *v1alpha1.Valkey, system bool) []Account {
	accounts := declared(Data, valkey.Spec.Users)
	if system {
		for _, user := range naming.SystemUsers() {
			accounts = append(accounts, Account{Plane: Data, User: user, Secret: naming.SystemPasswordsSecret(valkey.Name), Keys: []string{user}, System: true})
		}
	}
	return accounts
}

// OfSentinel are the users of a ValkeySentinel's Sentinels, and with system the product's own.
func OfSentinel(set *v1alpha1.ValkeySentinel, system bool) []Account {
	accounts := declared(Sentinel, set.Spec.Users)
	if system {
		for _, user := range naming.SentinelSystemUsers() {
			accounts = append(accounts, Account{Plane: Sentinel, User: user, Secret: naming.SentinelPasswordsSecret(set.Name), Keys: []string{user}, System: true})
		}
	}
	return accounts
}

// declared are the users of a spec. Without any the default user is open; with some it is closed unless it is among them.
func declared(plane Plane, users []v1alpha1.UserSpec) []Account {
	if len(users) == 0 {
		return []Account{{Plane: plane, User: valkeyconf.DefaultUser, Open: true}}
	}
	accounts := make([]Account, 0, len(users))
	for i := range users {
		accounts = append(accounts, accountOf(plane, &users[i]))
	}
	return accounts
}

func accountOf(plane Plane, user *v1alpha1.UserSpec) Account {
	account := Account{Plane: plane, User: user.Name}
	switch {
	case user.Enabled != nil && !*user.Enabled:
		account.Unusable = "disabled"
	case user.ResetPass:
		account.Unusable = "its passwords were reset"
	case user.PasswordSecret != nil:
		account.Secret, account.Keys = user.PasswordSecret.Name, user.PasswordSecret.Keys
	case user.NoPass:
		account.Open = true
	default:
		account.Unusable = "no password is set for it"
	}
	return account
}

// Preferred is whom to log in as where nobody is named: the default user if it can, else the first that can.
func Preferred(accounts []Account) (Account, bool) {
	var first *Account
	for i := range accounts {
		a := &accounts[i]
		if a.System || a.Unusable != "" {
			continue
		}
		if a.User == valkeyconf.DefaultUser {
			return *a, true
		}
		if first == nil {
			first = a
		}
	}
	if first == nil {
		return Account{}, false
	}
	return *first, true
}

// Named is the account of a user.
func Named(accounts []Account, user string) (Account, bool) {
	for _, a := range accounts {
		if a.User == user {
			return a, true
		}
	}
	return Account{}, false
}
