// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strings"
)

// RetiredPasswords are the hashes of passwords that users have in the first ACL file and shall have no longer by the second, by user, and whether
// a user shall have one that is not in the first yet. Users that shall not log in with a password at all, and the product's own, do not count:
// who is locked out is locked out at once.
func RetiredPasswords(inForce, wanted string) (retired map[string][]string, isArriving bool) {
	before := previousUsers(inForce)
	retired = map[string][]string{}
	for name, user := range previousUsers(wanted) {
		was := before[name]
		if strings.HasPrefix(name, "_") || !user.Enabled || user.NoPass || len(user.PasswordHashes) == 0 || !was.Enabled {
			continue
		}
		for _, hash := range was.PasswordHashes {
			if !slices.Contains(user.PasswordHashes, hash) {
				retired[name] = append(retired[name], hash)
			}
		}
		isArriving = isArriving || len(retired[name]) > 0 && slices.ContainsFunc(user.PasswordHashes, func(hash string) bool {
			return !slices.Contains(was.PasswordHashes, hash)
		})
	}
	return retired, isArriving
}
