// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/pki"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Lab is a cluster of this machine.
type Lab struct {
	cluster  plan.Cluster
	cache    build.Cache
	cgroups  host.Cgroups
	registry state.Registry
	daemons  state.Daemons
	out      io.Writer
}

// machinePath has what the machine was like before the first cluster.
var machinePath = filepath.Join(plan.StateRoot, ".machine.json")

// open returns the lab of an entry.
func open(name string, entry state.Entry, cache build.Cache, out io.Writer) (*Lab, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("namespaces, mounts and cgroups need root")
	}
	cluster, err := plan.New(name, entry.Slot, entry.Shape)
	if err != nil {
		return nil, err
	}
	cgroups, err := host.FindCgroups()
	if err != nil {
		return nil, err
	}
	return &Lab{
		cluster: cluster, cache: cache, cgroups: cgroups, out: out,
		registry: state.OpenRegistry(plan.StateRoot), daemons: state.DaemonsOf(cluster),
	}, nil
}

// Open returns a cluster that is recorded.
func Open(name string, cache build.Cache, out io.Writer) (*Lab, error) {
	entry, found, err := state.OpenRegistry(plan.StateRoot).Find(name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("there is no cluster %q: bring it up first", name)
	}
	return open(name, entry, cache, out)
}

// Kubeconfig is the path of the administrator's kubeconfig.
func (l *Lab) Kubeconfig() string { return l.cluster.Kubeconfig() }

func (l *Lab) pki() pki.Store { return pki.Open(l.cluster.Path("pki")) }

func (l *Lab) printf(format string, args ...any) { fmt.Fprintf(l.out, format, args...) }
