// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
)

func main() {
	c, err := build.DefaultCache()
	if err == nil {
		err = c.All(os.Args[1], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
