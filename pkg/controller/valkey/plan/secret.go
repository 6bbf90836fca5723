// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

// Secret is a password. It is not printed by any fmt verb.
type Secret string

// Format writes asterisks, whatever the verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte("***")) }

// MarshalJSON keeps structured logs from writing the password.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }
