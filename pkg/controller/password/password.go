// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package password owns how the product's own passwords are drawn; it stores none.
package password

import (
	"crypto/rand"
	"fmt"
	"math/big"
)

const (
	length   = 32
	alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// Draw is 32 random letters and digits (190 bits), which no file has to quote: a Sentinel writes passwords into its own as they are.
func Draw() (string, error) {
	drawn := make([]byte, length)
	for i := range drawn {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			return "", fmt.Errorf("draw a password: %w", err)
		}
		drawn[i] = alphabet[n.Int64()]
	}
	return string(drawn), nil
}
