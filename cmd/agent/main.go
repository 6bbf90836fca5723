// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command agent is the first process of every data and Sentinel container.
package main

import (
	"os"

	"github.com/valkeykube/valkeykube/cmd/agent/app"
)

func main() { os.Exit(app.Run(os.Args[1:], os.Stdout, os.Stderr)) }
