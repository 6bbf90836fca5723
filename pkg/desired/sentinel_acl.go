// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// SentinelUsers is the ACL of Sentinels.
type SentinelUsers struct {
	// File is the whole ACL file. It holds hashes of passwords.
	File string
	// Users is the part of it that the spec is about.
	Users string
}

// SentinelACL renders the ACL file of Sentinels: the product's own users with their passwords, the users of the spec with those in their
// Secrets (by the Secret's name), and the default user. It fails where a Secret or key that the spec names is missing, or where a user
// cannot be written; the error names it and holds no password.
func SentinelACL(users []v1alpha1.UserSpec, passwords map[string]string, secrets map[string]map[string][]byte) (SentinelUsers, error) {
	var own []valkeyconf.User
	for _, name := range slices.Sorted(maps.Keys(passwords)) {
		user, known := valkeyconf.SentinelUser(name, valkeyconf.HashPassword(passwords[name]))
		if !known {
			return SentinelUsers{}, fmt.Errorf("no such system user: %s", name)
		}
		own = append(own, user)
	}
	declared, err := declaredSentinelUsers(users, secrets)
	if err != nil {
		return SentinelUsers{}, err
	}
	ownText, err := valkeyconf.RenderACL(own)
	if err != nil {
		return SentinelUsers{}, err
	}
	declaredText, err := valkeyconf.RenderACL(declared)
	if err != nil {
		return SentinelUsers{}, fmt.Errorf("spec.users: %w", err)
	}
	return SentinelUsers{File: declaredText + ownText, Users: declaredText}, nil
}

// declaredSentinelUsers are the users of the spec, and the default user: open for discovery while nobody declared users, else closed
// unless it is among them.
func declaredSentinelUsers(users []v1alpha1.UserSpec, secrets map[string]map[string][]byte) ([]valkeyconf.User, error) {
	if len(users) == 0 {
		return []valkeyconf.User{valkeyconf.OpenSentinelDefault()}, nil
	}
	declared, hasDefault := []valkeyconf.User{}, false
	for i := range users {
		user, err := sentinelUser(&users[i], secrets)
		if err != nil {
			return nil, err
		}
		hasDefault = hasDefault || user.Name == valkeyconf.DefaultUser
		declared = append(declared, user)
	}
	if !hasDefault {
		declared = append([]valkeyconf.User{valkeyconf.ClosedDefault()}, declared...)
	}
	return declared, nil
}

// sentinelUser is one user of the spec with the hashes of its passwords.
func sentinelUser(spec *v1alpha1.UserSpec, secrets map[string]map[string][]byte) (valkeyconf.User, error) {
	user := valkeyconf.User{Name: spec.Name, Enabled: spec.Enabled == nil || *spec.Enabled, NoPass: spec.NoPass, Rules: sentinelRules(spec)}
	reference := spec.PasswordSecret
	if reference == nil || spec.ResetPass {
		return user, nil
	}
	data, ok := secrets[reference.Name]
	if !ok {
		return valkeyconf.User{}, fmt.Errorf("user %s: Secret %s does not exist", spec.Name, reference.Name)
	}
	keys := reference.Keys
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(data))
	}
	for _, key := range keys {
		password := data[key]
		if len(password) == 0 {
			return valkeyconf.User{}, fmt.Errorf("user %s: Secret %s has no key %s", spec.Name, reference.Name, key)
		}
		user.PasswordHashes = append(user.PasswordHashes, valkeyconf.HashPassword(string(password)))
	}
	return user, nil
}

// sentinelRules are a user's rights. A Sentinel holds no keys, so those are left out.
func sentinelRules(spec *v1alpha1.UserSpec) []string {
	rules := []string{"-@all"}
	if commands := spec.Commands; commands != nil {
		for _, command := range commands.Allow {
			rules = append(rules, "+"+command)
		}
		for _, command := range commands.Deny {
			rules = append(rules, "-"+command)
		}
	}
	if channels := spec.Channels; channels != nil {
		for _, pattern := range channels.Patterns {
			rules = append(rules, "&"+pattern)
		}
	}
	return append(rules, strings.Fields(spec.Permissions)...)
}
