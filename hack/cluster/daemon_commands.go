// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/provision"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/supervise"
)

// recorded returns the layout of a cluster that is recorded.
func recorded(name string) (plan.Cluster, error) {
	entry, found, err := state.OpenRegistry(plan.StateRoot).Find(name)
	if err != nil {
		return plan.Cluster{}, err
	}
	if !found {
		return plan.Cluster{}, fmt.Errorf("there is no cluster %q", name)
	}
	return plan.New(name, entry.Slot, entry.Shape)
}

func runSupervise(ctx context.Context, o options) error {
	flags := flag.NewFlagSet("supervise", flag.ContinueOnError)
	name := flags.String("name", "", "the cluster's name")
	if err := flags.Parse(o.args); err != nil {
		return err
	}
	cluster, err := recorded(*name)
	if err != nil {
		return err
	}
	return supervise.New(cluster).Run(ctx)
}

func runEnter(_ context.Context, o options) error {
	var e supervise.Entry
	flags := flag.NewFlagSet("enter", flag.ContinueOnError)
	flags.StringVar(&e.Cgroup, "cgroup", "", "cgroup to be in")
	flags.StringVar(&e.Record, "record", "", "file to write the process to")
	flags.StringVar(&e.Spec, "spec", "", "what the process is started from")
	flags.StringVar(&e.Netns, "netns", "", "network namespace to be in")
	flags.BoolVar(&e.IgnoreHangup, "ignore-hangup", false, "ignore SIGHUP until the program asks for it")
	if err := flags.Parse(o.args); err != nil {
		return err
	}
	e.Args = flags.Args()
	return supervise.Enter(e)
}

func runForward(ctx context.Context, o options) error {
	flags := flag.NewFlagSet("forward", flag.ContinueOnError)
	to := flags.String("to", "", "address to pass connections on to")
	if err := flags.Parse(o.args); err != nil {
		return err
	}
	listener, err := supervise.Inherited()
	if err != nil {
		return err
	}
	return supervise.Forward(ctx, listener, *to)
}

func runProvision(ctx context.Context, o options) error {
	flags := flag.NewFlagSet("provision", flag.ContinueOnError)
	name := flags.String("name", "", "the cluster's name")
	kubeconfig := flags.String("kubeconfig", "", "how to reach kube-apiserver")
	if err := flags.Parse(o.args); err != nil {
		return err
	}
	cluster, err := recorded(*name)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	dirs := map[string]string{}
	for _, node := range cluster.Nodes {
		dirs[node.Name] = node.Volumes
	}
	controller, factory, err := provision.New(client, dirs)
	if err != nil {
		return err
	}
	return controller.Run(ctx, factory)
}
