// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kubectl-valkey is the plugin "kubectl valkey".
package main

import (
	"os"

	"github.com/valkeykube/valkeykube/cmd/kubectl-valkey/app"
)

func main() {
	os.Exit(app.Run(os.Args[1:]))
}
