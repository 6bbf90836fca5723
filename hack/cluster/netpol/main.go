// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command netpol enforces the NetworkPolicies of the cluster's API on the pods of one node. It is the policy part of kube-router and
// nothing else of it: the stock program brings a BGP daemon, a service proxy and the clients of two clouds along. While there is no
// policy the node has no rules, so that the coming and going of pods costs nothing.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cloudnativelabs/kube-router/v2/pkg/controllers/netpol"
	"github.com/cloudnativelabs/kube-router/v2/pkg/healthcheck"
	"github.com/cloudnativelabs/kube-router/v2/pkg/options"
	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	config := options.NewKubeRouterConfig()
	config.AddFlags(pflag.CommandLine)
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, config); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run enforces from the first policy until the last is gone, and then leaves the node without rules; whoever started it starts it again.
// What is enforced stays in the kernel when ctx ends before that, or the program dies.
func run(ctx context.Context, config *options.KubeRouterConfig) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e, err := watch(ctx, config)
	if err != nil {
		return err
	}
	if e.idle() {
		// They may have gone while this program did not run.
		e.controller.Cleanup()
	}
	first := make(chan struct{})
	begin := sync.OnceFunc(func() { close(first) })
	_, err = e.policies.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { begin() },
		DeleteFunc: func(any) {
			if e.idle() {
				stop()
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watch the policies: %w", err)
	}
	select {
	case <-ctx.Done():
		return nil
	case <-first:
	}
	if err := e.enforce(ctx); err != nil {
		return err
	}
	if e.idle() {
		e.controller.Cleanup()
	}
	return nil
}

// enforcer is kube-router's controller of policies, with what it watches.
type enforcer struct {
	controller                 *netpol.NetworkPolicyController
	pods, policies, namespaces cache.SharedIndexInformer
}

// watch fills the caches and makes the controller.
func watch(ctx context.Context, config *options.KubeRouterConfig) (*enforcer, error) {
	rest, err := clientcmd.BuildConfigFromFlags("", config.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	e := &enforcer{
		pods:       factory.Core().V1().Pods().Informer(),
		policies:   factory.Networking().V1().NetworkPolicies().Informer(),
		namespaces: factory.Core().V1().Namespaces().Informer(),
	}
	factory.Start(ctx.Done())
	// Rules that are made before all is known would let in what is forbidden, and keep out what is not.
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return nil, fmt.Errorf("stopped before the first list of %s was there", kind)
		}
	}
	tables, sets, err := netpol.NewIPTablesHandlers(config)
	if err != nil {
		return nil, fmt.Errorf("find iptables and ipset: %w", err)
	}
	e.controller, err = netpol.NewNetworkPolicyController(client, config, e.pods, e.policies, e.namespaces, &sync.Mutex{}, tables, sets)
	if err != nil {
		return nil, fmt.Errorf("set up the enforcer: %w", err)
	}
	return e, nil
}

// idle tells whether there is no policy.
func (e *enforcer) idle() bool { return len(e.policies.GetStore().ListKeys()) == 0 }

// enforce keeps the node's rules as the policies want them until ctx ends.
func (e *enforcer) enforce(ctx context.Context) error {
	for informer, handler := range map[cache.SharedIndexInformer]cache.ResourceEventHandler{
		e.pods:       e.controller.PodEventHandler,
		e.policies:   e.controller.NetworkPolicyEventHandler,
		e.namespaces: e.controller.NamespaceEventHandler,
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	beats := make(chan *healthcheck.ControllerHeartbeat)
	go func() {
		// Nobody asks for them, and the controller waits until they are taken.
		for range beats {
		}
	}()
	var running sync.WaitGroup
	running.Add(1)
	go e.controller.Run(beats, ctx.Done(), &running)
	running.Wait()
	return nil
}
