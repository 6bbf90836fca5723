// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// ValkeyACLInput is what the ACL file of a Valkey's servers is made from.
type ValkeyACLInput struct {
	Users []v1alpha1.UserSpec
	// SystemPasswords by user of ours.
	SystemPasswords map[string]string
	// Secrets that the users' passwords are in: content by the Secret's name. Those that do not exist are absent.
	Secrets map[string]map[string][]byte
	// Previous is the ACL file so far: a user whose passwords cannot be read now stays as it was.
	Previous string
	// Keep are hashes of passwords, by user, that stay valid beside those that the user's Secret holds now.
	Keep map[string][]string
}

// ValkeyACL is the ACL file of a Valkey's servers.
type ValkeyACL struct {
	// File is the whole file. It holds hashes of passwords.
	File string
	// Missing names each Secret or key that a user's passwords should be in and are not. Such a user stays as it was or, new, cannot log in.
	Missing []string
	// Invalid says which users cannot be written, and why. Such a user stays as it was or, new, is left out.
	Invalid []string
}

// NewValkeyACL renders the users of the spec, the default user, and the product's own users. Without users in the spec the default user is
// open for everything but administration; with users it is closed unless it is among them. It fails only if the product's own users cannot
// be written.
func NewValkeyACL(in ValkeyACLInput) (ValkeyACL, error) {
	var acl ValkeyACL
	previous := previousUsers(in.Previous)
	users, hasDefault := []valkeyconf.User{}, false
	for i := range in.Users {
		spec := &in.Users[i]
		user, missing := declaredUser(spec, in.Secrets)
		_, err := user.Line()
		before, wasThere := previous[spec.Name]
		if missing != "" {
			acl.Missing = append(acl.Missing, missing)
		}
		if err != nil {
			acl.Invalid = append(acl.Invalid, err.Error())
		}
		switch {
		case (missing != "" || err != nil) && wasThere:
			user = before
		case err != nil:
			continue
		}
		hasDefault = hasDefault || user.Name == valkeyconf.DefaultUser
		user.PasswordHashes = append(user.PasswordHashes, in.Keep[spec.Name]...)
		users = append(users, user)
	}
	switch {
	case len(in.Users) == 0:
		users = append(users, valkeyconf.OpenNodeDefault())
	case !hasDefault:
		users = append([]valkeyconf.User{valkeyconf.ClosedDefault()}, users...)
	}
	for _, name := range slices.Sorted(maps.Keys(in.SystemPasswords)) {
		if user, known := valkeyconf.NodeUser(name, valkeyconf.HashPassword(in.SystemPasswords[name])); known {
			users = append(users, user)
		}
	}
	var err error
	acl.File, err = valkeyconf.RenderACL(users)
	return acl, err
}

// previousUsers are the users of an ACL file by name; none of one that cannot be read.
func previousUsers(file string) map[string]valkeyconf.User {
	users, err := valkeyconf.ParseACL(file)
	if err != nil {
		return nil
	}
	byName := make(map[string]valkeyconf.User, len(users))
	for _, user := range users {
		byName[user.Name] = user
	}
	return byName
}

// declaredUser is one user of the spec, and what is missing of its passwords. With something missing it cannot log in.
func declaredUser(spec *v1alpha1.UserSpec, secrets map[string]map[string][]byte) (valkeyconf.User, string) {
	user := valkeyconf.User{Name: spec.Name, Enabled: spec.Enabled == nil || *spec.Enabled, NoPass: spec.NoPass, Rules: userRules(spec)}
	reference := spec.PasswordSecret
	if reference == nil || spec.ResetPass {
		user.NoPass = user.NoPass && !spec.ResetPass
		return user, ""
	}
	data, exists := secrets[reference.Name]
	if !exists {
		user.Enabled = false
		return user, fmt.Sprintf("user %s: Secret %s does not exist", spec.Name, reference.Name)
	}
	keys := reference.Keys
	if len(keys) == 0 {
		keys = slices.Sorted(maps.Keys(data))
	}
	if len(keys) == 0 {
		user.Enabled = false
		return user, fmt.Sprintf("user %s: Secret %s has no keys", spec.Name, reference.Name)
	}
	for _, key := range keys {
		if len(data[key]) == 0 {
			user.Enabled = false
			return user, fmt.Sprintf("user %s: Secret %s has no key %s", spec.Name, reference.Name, key)
		}
		user.PasswordHashes = append(user.PasswordHashes, valkeyconf.HashPassword(string(data[key])))
	}
	return user, ""
}

// userRules are a user's rights: nothing, then what the fields add, then what they take, then the raw rules.
func userRules(spec *v1alpha1.UserSpec) []string {
	rules := []string{"-@all"}
	if keys := spec.Keys; keys != nil {
		rules = append(rules, prefixed("~", keys.ReadWrite)...)
		rules = append(rules, prefixed("%R~", keys.ReadOnly)...)
		rules = append(rules, prefixed("%W~", keys.WriteOnly)...)
	}
	if channels := spec.Channels; channels != nil {
		rules = append(rules, prefixed("&", channels.Patterns)...)
	}
	if commands := spec.Commands; commands != nil {
		rules = append(rules, prefixed("+", commands.Allow)...)
		rules = append(rules, prefixed("-", commands.Deny)...)
	}
	return append(rules, rawRules(spec.Permissions)...)
}

func prefixed(prefix string, words []string) []string {
	rules := make([]string, 0, len(words))
	for _, word := range words {
		rules = append(rules, prefix+word)
	}
	return rules
}

// rawRules splits rules at blanks, keeping a "(selector of several words)" together.
func rawRules(text string) []string {
	var rules []string
	open := false
	for _, word := range strings.Fields(text) {
		if open {
			rules[len(rules)-1] += " " + word
		} else {
			rules = append(rules, word)
			open = word[0] == '('
		}
		open = open && !strings.HasSuffix(word, ")")
	}
	return rules
}

// ValkeyACLSecret holds the ACL file of a Valkey's servers.
func ValkeyACLSecret(valkey *v1alpha1.Valkey, file string) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(naming.ACLSecret(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithType(corev1.SecretTypeOpaque).
		WithData(map[string][]byte{naming.KeyACL: []byte(file)})
}

// ValkeyPasswordsSecret holds the passwords of the product's own users on a Valkey's servers. It is written whole, never applied: what is in
// it must not depend on who applied what.
func ValkeyPasswordsSecret(valkey *v1alpha1.Valkey) *corev1.Secret {
	isController, blocks := true, false
	secret := &corev1.Secret{Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
	secret.Name, secret.Namespace = naming.SystemPasswordsSecret(valkey.Name), valkey.Namespace
	secret.Labels = naming.ValkeyLabels(valkey.Name)
	secret.OwnerReferences = append(secret.OwnerReferences, ownerReference(valkey, &isController, &blocks))
	return secret
}

// ValkeyPasswordsCopy holds the system passwords a second time. Nothing reads it but the controller that makes the first again.
func ValkeyPasswordsCopy(valkey *v1alpha1.Valkey, passwords map[string][]byte) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(naming.SystemPasswordsCopy(valkey.Name), valkey.Namespace).
		WithLabels(naming.ValkeyLabels(valkey.Name)).
		WithOwnerReferences(OwnerReference(KindValkey, valkey)).
		WithType(corev1.SecretTypeOpaque).
		WithData(passwords)
}
