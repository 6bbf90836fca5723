// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

// Daemon is a program that the supervisor keeps running.
type Daemon struct {
	Name string `json:"name"`
	// Node is set for the daemons of a node.
	Node string `json:"node,omitempty"`
	// Netns is the network namespace to run in.
	Netns string   `json:"netns,omitempty"`
	Args  []string `json:"args"`
	Env   []string `json:"env,omitempty"`
	// Listen is a TCP address of the machine itself; the listening socket becomes the daemon's file 3.
	Listen string `json:"listen,omitempty"`
	// Revision changes when a file that the daemon reads at its start does.
	Revision string `json:"revision,omitempty"`
	// Stopped keeps the daemon down.
	Stopped bool `json:"stopped,omitempty"`
}

// Hash identifies how a daemon is started. Whether it is stopped is no part of it.
func (d Daemon) Hash() string {
	d.Stopped = false
	content, err := json.Marshal(d)
	if err != nil {
		// A struct of strings cannot fail to be written.
		panic(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))[:16]
}

// SupervisorName is the record of the supervisor itself.
const SupervisorName = "supervisor"

// Daemons are the wanted daemons of a cluster and the records of the running ones.
type Daemons struct{ cluster plan.Cluster }

// DaemonsOf opens the records of a cluster.
func DaemonsOf(c plan.Cluster) Daemons { return Daemons{cluster: c} }

// Lock keeps others from changing what is wanted while a decision is carried out.
func (d Daemons) Lock() (release func(), err error) { return Lock(d.cluster.Path("daemons.lock")) }

// Put writes down what is wanted.
func (d Daemons) Put(daemon Daemon) (changed bool, err error) {
	return WriteJSON(d.cluster.Path("daemons", daemon.Name+".json"), daemon)
}

// Get reads what is wanted of one daemon.
func (d Daemons) Get(name string) (daemon Daemon, found bool, err error) {
	err = ReadJSON(d.cluster.Path("daemons", name+".json"), &daemon)
	if errors.Is(err, fs.ErrNotExist) {
		return Daemon{}, false, nil
	}
	return daemon, err == nil, err
}

// List reads all that is wanted, ordered by name.
func (d Daemons) List() ([]Daemon, error) {
	names, err := stems(d.cluster.Path("daemons"))
	if err != nil {
		return nil, err
	}
	var list []Daemon
	for _, name := range names {
		daemon, found, err := d.Get(name)
		if err != nil {
			return nil, err
		}
		if found {
			list = append(list, daemon)
		}
	}
	return list, nil
}

// RecordPath is where a daemon's process is written down.
func (d Daemons) RecordPath(name string) string { return d.cluster.Path("run", name+".json") }

// Running returns a daemon's process, if it is alive.
func (d Daemons) Running(name string) (Process, bool) {
	var p Process
	if err := ReadJSON(d.RecordPath(name), &p); err != nil {
		return Process{}, false
	}
	return p, p.Alive()
}

// AllRunning returns every recorded process that is alive, by daemon name.
func (d Daemons) AllRunning() (map[string]Process, error) {
	names, err := stems(d.cluster.Path("run"))
	if err != nil {
		return nil, err
	}
	running := map[string]Process{}
	for _, name := range names {
		if p, alive := d.Running(name); alive {
			running[name] = p
		}
	}
	return running, nil
}

func stems(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(files))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			names = append(names, strings.TrimSuffix(filepath.Base(file), ".json"))
		}
	}
	slices.Sort(names)
	return names, nil
}
