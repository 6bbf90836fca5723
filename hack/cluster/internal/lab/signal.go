// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/images"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
)

// SignalContainer sends a signal to all processes of a container, or to those that run a program where one is named: a crash with SIGKILL, a freeze
// with SIGSTOP, which SIGCONT ends.
func (l *Lab) SignalContainer(c images.Container, program, signal string) error {
	return l.onItsNode(c, func(runtime images.Runtime) (bool, error) { return runtime.Signal(c, program, signal) })
}

// BlockPod drops what a container's pod is sent from an address to a port, until the pod ends or UnblockPod.
func (l *Lab) BlockPod(c images.Container, from, port string) error {
	return l.onItsNode(c, func(runtime images.Runtime) (bool, error) { return runtime.Block(c, from, port) })
}

// UnblockPod undoes BlockPod.
func (l *Lab) UnblockPod(c images.Container) error {
	return l.onItsNode(c, func(runtime images.Runtime) (bool, error) { return runtime.Block(c, "", "") })
}

// onItsNode finds the node that runs a container.
func (l *Lab) onItsNode(c images.Container, do func(images.Runtime) (found bool, err error)) error {
	for _, node := range l.cluster.Nodes {
		daemon, found, err := l.daemons.Get(containerdOf(node))
		if err != nil {
			return err
		}
		if !found || daemon.Stopped {
			continue
		}
		runtime := images.Runtime{
			Ctr: filepath.Join(l.cache.Runtime(), "usr", "bin", "ctr"), Socket: render.PathsOf(node).ContainerdSocket(),
		}
		if found, err := do(runtime); err != nil || found {
			return err
		}
	}
	return fmt.Errorf("no node runs container %s of pod %s/%s", c.Name, c.Namespace, c.Pod)
}
