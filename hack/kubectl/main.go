// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package main is kubectl of the minor release before the cluster's, for the tests of what an older kubectl sees.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
