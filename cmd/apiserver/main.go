// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command valkey-apiserver serves the API group valkey.io behind the aggregator of a Kubernetes API server.
package main

import (
	"os"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/valkeykube/valkeykube/cmd/apiserver/app"
)

func main() {
	os.Exit(cli.Run(app.NewCommand(genericapiserver.SetupSignalContext())))
}
