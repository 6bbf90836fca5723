// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

// Entry is the first thing written about a cluster and the last that is removed.
type Entry struct {
	Name string `json:"name"`
	Slot int    `json:"slot"`
	// Boot is the machine's run in which the cluster was started: after another start of the machine, only files are left.
	Boot string `json:"boot"`
	plan.Shape
}

// Registry knows the clusters of the machine.
type Registry struct{ root string }

// OpenRegistry returns the registry below root.
func OpenRegistry(root string) Registry { return Registry{root: root} }

// Lock serialises the runs that create, change or remove the cluster of that name.
func (r Registry) Lock(name string) (release func(), err error) {
	return Lock(r.lockPath(name))
}

func (r Registry) lockPath(name string) string { return filepath.Join(r.root, "."+name+".lock") }

// slotsLock is no cluster's name.
const slotsLock = "SLOTS"

// Exclusively calls do while no other run does so, claims a slot or finds the registry empty.
func (r Registry) Exclusively(do func() error) error {
	release, err := Lock(r.lockPath(slotsLock))
	if err != nil {
		return err
	}
	defer release()
	return do()
}

// WhenEmpty calls do unless a cluster is recorded, and keeps others from being recorded meanwhile. Then nothing is left
// of the registry but what other runs hold locked.
func (r Registry) WhenEmpty(do func() error) error {
	release, err := Lock(r.lockPath(slotsLock))
	if err != nil {
		return err
	}
	defer release()
	entries, err := r.List()
	if err != nil || len(entries) > 0 {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := os.Remove(r.lockPath(slotsLock)); err != nil {
		return err
	}
	if err := os.Remove(r.root); err != nil && !errors.Is(err, syscall.ENOTEMPTY) {
		return err
	}
	return nil
}

// Find returns a recorded cluster.
func (r Registry) Find(name string) (entry Entry, found bool, err error) {
	err = ReadJSON(filepath.Join(r.root, name, "cluster.json"), &entry)
	if errors.Is(err, fs.ErrNotExist) {
		return Entry{}, false, nil
	}
	return entry, err == nil, err
}

// List returns all recorded clusters.
func (r Registry) List() ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(r.root, "*", "cluster.json"))
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, file := range files {
		var entry Entry
		if err := ReadJSON(file, &entry); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// Claim returns the entry of a cluster, if it has the shape that is asked for, and makes one with the first free slot for a
// new name. usable tells whether nothing else on the machine is in the way of a slot.
func (r Registry) Claim(name string, shape plan.Shape, usable func(plan.Cluster) bool) (Entry, error) {
	release, err := Lock(r.lockPath(slotsLock))
	if err != nil {
		return Entry{}, err
	}
	defer release()
	if entry, found, err := r.Find(name); err != nil {
		return entry, err
	} else if found {
		return entry, entry.Fits(shape)
	}
	entries, err := r.List()
	if err != nil {
		return Entry{}, err
	}
	taken := map[int]bool{}
	for _, entry := range entries {
		taken[entry.Slot] = true
	}
	for slot := range plan.MaxSlots {
		cluster, err := plan.Below(r.root, name, slot, shape)
		if err != nil {
			return Entry{}, err
		}
		if taken[slot] || !usable(cluster) {
			continue
		}
		entry := Entry{Name: name, Slot: slot, Boot: BootID(), Shape: shape.Completed()}
		_, err = WriteJSON(filepath.Join(r.root, name, "cluster.json"), entry)
		return entry, err
	}
	return Entry{}, fmt.Errorf("all %d cluster slots of this machine are in use", plan.MaxSlots)
}

// Forget removes all files of a cluster, its entry last: a run that dies in between leaves a cluster that can be found.
// The caller holds the cluster's lock, whose file goes too.
func (r Registry) Forget(name string) error {
	dir := filepath.Join(r.root, name)
	children, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, child := range children {
		if child.Name() == "cluster.json" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, child.Name())); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	err = os.Remove(r.lockPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
