// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// SentinelACLInput is what the ACL file of Sentinels is made from.
type SentinelACLInput struct {
	Users []v1alpha1.UserSpec
	// SystemPasswords by user of ours.
	SystemPasswords map[string]string
	// Secrets that the users' passwords are in: content by the Secret's name. Those that do not exist are absent.
	Secrets map[string]map[string][]byte
	// Previous is the ACL file so far: a user whose passwords cannot be read now stays as it was.
	Previous string
}

// SentinelACL is the ACL file of Sentinels.
type SentinelACL struct {
	// File is the whole ACL file. It holds hashes of passwords.
	File string
	// Declared is the part of it that the spec is about.
	Declared string
	// Missing names each Secret or key that a user's passwords should be in and are not. Such a user stays as it was or, new, cannot log in.
	Missing []string
	// Invalid says which users cannot be written, and why. Such a user stays as it was or, new, is left out.
	Invalid []string
}

// NewSentinelACL renders the users of the spec, the default user, and the product's own users. Without users in the spec the default user
// may find and follow the primaries and nothing else; with users it is closed unless it is among them. It fails only if the product's own
// users cannot be written.
func NewSentinelACL(in SentinelACLInput) (SentinelACL, error) {
	var acl SentinelACL
	declared := acl.declare(in)
	var own []valkeyconf.User
	for _, name := range slices.Sorted(maps.Keys(in.SystemPasswords)) {
		if user, known := valkeyconf.SentinelUser(name, valkeyconf.HashPassword(in.SystemPasswords[name])); known {
			own = append(own, user)
		}
	}
	var err error
	if acl.Declared, err = valkeyconf.RenderACL(declared); err != nil {
		return acl, err
	}
	acl.File, err = valkeyconf.RenderACL(append(declared, own...))
	return acl, err
}

// declare are the users of the spec and the default user; what cannot be written or read is noted.
func (a *SentinelACL) declare(in SentinelACLInput) []valkeyconf.User {
	if len(in.Users) == 0 {
		return []valkeyconf.User{valkeyconf.OpenSentinelDefault()}
	}
	previous := previousUsers(in.Previous)
	users, hasDefault := []valkeyconf.User{}, false
	for i := range in.Users {
		spec := &in.Users[i]
		user, missing := declaredUser(spec, in.Secrets)
		_, err := user.Line()
		before, wasThere := previous[spec.Name]
		if missing != "" {
			a.Missing = append(a.Missing, missing)
		}
		if err != nil {
			a.Invalid = append(a.Invalid, err.Error())
		}
		switch {
		case (missing != "" || err != nil) && wasThere:
			user = before
		case err != nil:
			continue
		}
		hasDefault = hasDefault || user.Name == valkeyconf.DefaultUser
		users = append(users, user)
	}
	if !hasDefault {
		users = append([]valkeyconf.User{valkeyconf.ClosedDefault()}, users...)
	}
	return users
}
