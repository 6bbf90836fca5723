// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Cut takes a node's cable out: its pods run on and reach nobody but each other.
func (l *Lab) Cut(name string) error { return l.setCable(name, false) }

// Heal puts a node's cable back in.
func (l *Lab) Heal(name string) error { return l.setCable(name, true) }

func (l *Lab) setCable(name string, in bool) error {
	node, err := l.cluster.Node(name)
	if err != nil {
		return err
	}
	return host.SetLink(l.cluster.Netns(), node.Port, in)
}

// StopNode is the sudden loss of a node: all its processes end at once, and what only they held is gone. Its disk stays.
func (l *Lab) StopNode(name string) error {
	node, err := l.cluster.Node(name)
	if err != nil {
		return err
	}
	// The supervisor reads what is wanted under the same lock, so it starts nothing again.
	release, err := l.daemons.Lock()
	if err != nil {
		return err
	}
	defer release()
	for _, name := range nodeDaemons(node) {
		daemon, found, err := l.daemons.Get(name)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		daemon.Stopped = true
		if _, err := l.daemons.Put(daemon); err != nil {
			return err
		}
	}
	if err := l.killNode(node); err != nil {
		return err
	}
	return l.clearNode(node)
}

// killNode ends the node's daemons before its containers, which they would start again.
func (l *Lab) killNode(node plan.Node) error {
	for _, name := range nodeDaemons(node) {
		if process, alive := l.daemons.Running(name); alive {
			if err := host.Signal(process, unix.SIGKILL); err != nil {
				return err
			}
		}
	}
	for _, name := range nodeDaemons(node) {
		if err := l.cgroups.Kill(l.cluster.DaemonCgroup(name), 20*time.Second); err != nil {
			return err
		}
	}
	return l.cgroups.Kill(node.Cgroup, 20*time.Second)
}

// clearNode removes what does not outlive a loss of power: network, mounts, the state of containers.
func (l *Lab) clearNode(node plan.Node) error {
	if err := host.UnmountBelow(node.Dir); err != nil {
		return err
	}
	if err := host.DeleteNetns(node.Netns); err != nil {
		return err
	}
	if err := l.cgroups.Remove(node.Cgroup, 10*time.Second); err != nil {
		return err
	}
	if err := os.RemoveAll(render.PathsOf(node).ContainerdState()); err != nil {
		return err
	}
	return host.RemoveDeadShimSockets()
}

// StartNode starts a stopped node again.
func (l *Lab) StartNode(ctx context.Context, name string) error {
	node, err := l.cluster.Node(name)
	if err != nil {
		return err
	}
	if daemon, found, err := l.daemons.Get(kubeletOf(node)); err != nil || found && !daemon.Stopped {
		return err
	}
	if err := l.ensureFiles(); err != nil {
		return err
	}
	if err := l.ensureNodeNetwork(node); err != nil {
		return err
	}
	if err := l.cgroups.Create(node.Cgroup); err != nil {
		return err
	}
	var daemons []state.Daemon
	for _, daemon := range []func(plan.Node) (state.Daemon, error){l.containerd, l.kubelet, l.proxy, l.policy} {
		wanted, err := daemon(node)
		if err != nil {
			return err
		}
		daemons = append(daemons, wanted)
	}
	start := time.Now()
	if err := l.want(daemons...); err != nil {
		return err
	}
	if err := l.await(ctx, readyAgain(node, start)); err != nil {
		return err
	}
	return l.await(ctx, ready([]plan.Node{node}))
}

// Restart ends a daemon and waits until another process of it runs. With kill it gets no chance to end by itself.
func (l *Lab) Restart(ctx context.Context, name string, kill bool) error {
	daemon, found, err := l.daemons.Get(name)
	if err != nil {
		return err
	}
	if !found || daemon.Stopped {
		return fmt.Errorf("no daemon %q is wanted in cluster %s: 'status' lists them", name, l.cluster.Name)
	}
	old, alive := l.daemons.Running(name)
	if alive {
		grace := 20 * time.Second
		if kill {
			grace = 0
		}
		if err := host.End(old, grace); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if process, alive := l.daemons.Running(name); alive && process != old {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not start again", name)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if name == "kube-apiserver" || name == "etcd" || name == "forwarder" {
		return l.waitForServer(ctx)
	}
	return nil
}

// StopDaemon keeps a daemon of the control plane down.
func (l *Lab) StopDaemon(name string) error { return l.setStopped(name, true) }

// StartDaemon undoes StopDaemon.
func (l *Lab) StartDaemon(name string) error { return l.setStopped(name, false) }

func (l *Lab) setStopped(name string, stopped bool) error {
	daemon, found, err := l.daemons.Get(name)
	if err != nil {
		return err
	}
	if !found || name == state.SupervisorName {
		return fmt.Errorf("cluster %s has no daemon %q: 'status' lists them", l.cluster.Name, name)
	}
	daemon.Stopped = stopped
	if err := l.want(daemon); err != nil {
		return err
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if _, alive := l.daemons.Running(name); alive != stopped {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not follow: is the supervisor running?", name)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
