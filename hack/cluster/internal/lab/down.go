// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Down removes a cluster and everything that it or a run that died has left on the machine. A cluster that is not there
// is no error.
func Down(name string, cache build.Cache, out io.Writer) error {
	registry := state.OpenRegistry(plan.StateRoot)
	release, err := registry.Lock(name)
	if err != nil {
		return err
	}
	defer release()
	entry, _, err := registry.Find(name)
	if err != nil {
		return err
	}
	// Names do not depend on the slot: what they name is removed also when the entry is lost.
	l, err := open(name, entry, cache, out)
	if err != nil {
		return err
	}
	return l.down()
}

func (l *Lab) down() error {
	if err := l.killAll(); err != nil {
		return err
	}
	if err := host.UnmountBelow(l.cluster.Dir()); err != nil {
		return err
	}
	if err := l.cgroups.Remove(l.cluster.Cgroup(), 10*time.Second); err != nil {
		return err
	}
	for _, netns := range l.netnsNames() {
		if err := host.DeleteNetns(netns); err != nil {
			return err
		}
	}
	for _, remove := range []func() error{
		func() error { return host.RemoveLogLinks(l.cluster.Dir()) },
		func() error { return host.RemoveCNIResults(render.Network(l.cluster)) },
		host.RemoveDeadShimSockets,
		func() error { return l.registry.Forget(l.cluster.Name) },
		l.restoreMachine,
	} {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) netnsNames() []string {
	names := []string{l.cluster.Netns()}
	for _, node := range l.cluster.Nodes {
		names = append(names, node.Netns)
	}
	return names
}

// killAll ends the supervisor first, which would start the others again, then all that is recorded, then all that is in
// the cluster's cgroups, recorded or not.
func (l *Lab) killAll() error {
	if process, alive := l.daemons.Running(state.SupervisorName); alive {
		if err := host.End(process, 0); err != nil {
			return err
		}
	}
	if err := l.cgroups.Kill(l.cluster.DaemonCgroup(state.SupervisorName), 10*time.Second); err != nil {
		return err
	}
	running, err := l.daemons.AllRunning()
	if err != nil {
		return err
	}
	for _, process := range running {
		if err := host.Signal(process, unix.SIGKILL); err != nil {
			return err
		}
	}
	if err := l.cgroups.Kill(l.cluster.Cgroup(), 30*time.Second); err != nil {
		return err
	}
	for name, process := range running {
		if !host.Wait(process, 10*time.Second) {
			return fmt.Errorf("%s (process %d) does not end", name, process.PID)
		}
	}
	return nil
}

// restoreMachine undoes what is done once for all clusters, after the last one.
func (l *Lab) restoreMachine() error {
	return l.registry.WhenEmpty(func() error { return host.RestoreMachine(machinePath) })
}
