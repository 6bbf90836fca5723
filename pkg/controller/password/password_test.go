// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package password_test

import (
	"regexp"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/controller/password"
)

func TestDraw(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		drawn, err := password.Draw()
		if err != nil {
			t.Fatal(err)
		}
		if seen[drawn] || !regexp.MustCompile("^[A-Za-z0-9]{32}$").MatchString(drawn) {
			t.Fatalf("drew %q", drawn)
		}
		seen[drawn] = true
	}
}
