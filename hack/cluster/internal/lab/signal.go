// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/images"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
)

// SignalContainer sends a signal to all processes of a container, on whichever node it runs: a crash with SIGKILL, a freeze with
// SIGSTOP, which SIGCONT ends.
func (l *Lab) SignalContainer(c images.Container, signal string) error {
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
		sent, err := runtime.Signal(c, signal)
		if err != nil || sent {
			return err
		}
	}
	return fmt.Errorf("no node runs container %s of pod %s/%s", c.Name, c.Namespace, c.Pod)
}
