// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Hash identifies content: 32 hexadecimal characters, fit for a label or an annotation. Parts are kept apart: ("ab") and
// ("a", "b") differ.
func Hash(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		sum.Write(length[:])
		sum.Write([]byte(part))
	}
	return hex.EncodeToString(sum.Sum(nil))[:32]
}
