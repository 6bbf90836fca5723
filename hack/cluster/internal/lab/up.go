// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"io"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Up brings a cluster of a shape up, completes one that is half up, and changes nothing of one that is up.
func Up(ctx context.Context, name string, shape plan.Shape, cache build.Cache, out io.Writer) (*Lab, error) {
	registry := state.OpenRegistry(plan.StateRoot)
	release, err := registry.Lock(name)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := clearStale(name, cache, out); err != nil {
		return nil, err
	}
	// The entry comes first: whatever is made after it can be found and removed.
	entry, err := registry.Claim(name, shape, func(c plan.Cluster) bool { return host.PortIsFree(c.Forwarder()) })
	if err != nil {
		return nil, err
	}
	l, err := open(name, entry, cache, out)
	if err != nil {
		return nil, err
	}
	return l, l.up(ctx)
}

// clearStale removes what is left of a cluster that was up before the machine was last started.
func clearStale(name string, cache build.Cache, out io.Writer) error {
	entry, found, err := state.OpenRegistry(plan.StateRoot).Find(name)
	if err != nil || !found || entry.Boot == state.BootID() {
		return err
	}
	fmt.Fprintf(out, "clearing what is left of cluster %s from before the machine's last start\n", name)
	l, err := open(name, entry, cache, out)
	if err != nil {
		return err
	}
	return l.down()
}

// step is a part of bringing a cluster up.
type step struct {
	name string
	do   func(ctx context.Context) error
}

func (l *Lab) up(ctx context.Context) error {
	steps := []step{
		{"making networks, certificates and configuration", l.prepare},
		{"starting etcd, kube-apiserver and the container runtimes", l.startServer},
		{"waiting for kube-apiserver", l.waitForServer},
		{"starting controllers, scheduler and kubelets", l.startClients},
		{"applying cluster DNS and the StorageClass", l.applyManifests},
		{"loading images into the nodes", func(context.Context) error { return l.loadBase() }},
		{"waiting for the nodes to register", l.waitForRegistration},
		{"waiting for the nodes to be Ready", l.waitForNodes},
		{"waiting for the cluster DNS", l.waitForDNS},
	}
	progress := build.NewProgress(l.out, len(steps))
	for _, s := range steps {
		if err := progress.Step(s.name, func() error { return s.do(ctx) }); err != nil {
			return fmt.Errorf("%w (logs: %s)", err, l.cluster.Path("logs"))
		}
	}
	return nil
}

func (l *Lab) prepare(context.Context) error {
	save := func() error { return host.SaveMachine(machinePath) }
	if err := l.registry.Exclusively(save); err != nil {
		return err
	}
	for _, do := range []func() error{l.ensureTool, l.ensureCertificates, l.ensureFiles, l.ensureNetwork} {
		if err := do(); err != nil {
			return err
		}
	}
	for _, node := range l.cluster.Nodes {
		if err := l.cgroups.Create(node.Cgroup); err != nil {
			return err
		}
	}
	return nil
}

// startServer starts what needs nothing else: etcd, kube-apiserver, the way to it, and the container runtimes.
func (l *Lab) startServer(context.Context) error {
	wanted, err := l.server()
	if err != nil {
		return err
	}
	for _, node := range l.cluster.Nodes {
		runtime, err := l.containerd(node)
		if err != nil {
			return err
		}
		wanted = append(wanted, runtime)
	}
	if err := l.want(wanted...); err != nil {
		return err
	}
	return l.ensureSupervisor()
}

// startClients starts what would only fail before kube-apiserver and the container runtimes answer.
func (l *Lab) startClients(context.Context) error {
	wanted, err := l.serverClients()
	if err != nil {
		return err
	}
	for _, node := range l.cluster.Nodes {
		kubelet, err := l.kubelet(node)
		if err != nil {
			return err
		}
		wanted = append(wanted, kubelet)
	}
	return l.want(wanted...)
}

// waitForRegistration waits for the nodes and then starts what needs to know their addresses.
func (l *Lab) waitForRegistration(ctx context.Context) error {
	if err := l.await(ctx, registered(l.cluster.Nodes)); err != nil {
		return err
	}
	for _, node := range l.cluster.Nodes {
		proxy, err := l.proxy(node)
		if err != nil {
			return err
		}
		policy, err := l.policy(node)
		if err != nil {
			return err
		}
		if err := l.want(proxy, policy); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) waitForNodes(ctx context.Context) error { return l.await(ctx, ready(l.cluster.Nodes)) }

func (l *Lab) waitForDNS(ctx context.Context) error { return l.await(ctx, dnsAvailable) }
