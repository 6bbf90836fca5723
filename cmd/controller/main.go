// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command valkey-controller drives the workloads behind Valkeys, ValkeySentinels and ValkeyNodes.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/cmd/controller/app"
)

func main() {
	os.Exit(cli.Run(app.NewCommand(ctrl.SetupSignalHandler())))
}
