// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

func anySlot(plan.Cluster) bool { return true }

func TestClaimGivesEachClusterItsOwnSlotForGood(t *testing.T) {
	r := OpenRegistry(filepath.Join(t.TempDir(), "root"))
	for i, name := range []string{"a", "b", "a", "c"} {
		entry, err := r.Claim(name, plan.Shape{}, anySlot)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"a": 0, "b": 1, "c": 2}[name]
		if entry.Slot != want || entry.Name != name || entry.Boot != BootID() {
			t.Errorf("claim %d: %+v, want slot %d", i, entry, want)
		}
	}
	if err := r.Forget("b"); err != nil {
		t.Fatal(err)
	}
	if entry, err := r.Claim("d", plan.Shape{}, anySlot); err != nil || entry.Slot != 1 {
		t.Errorf("slot %d, %v, want the one that became free", entry.Slot, err)
	}
}

func TestClaimPassesOverWhatSomethingElseUses(t *testing.T) {
	r := OpenRegistry(t.TempDir())
	entry, err := r.Claim("a", plan.Shape{}, func(c plan.Cluster) bool { return c.Slot >= 3 })
	if err != nil || entry.Slot != 3 {
		t.Fatalf("slot %d, %v, want 3", entry.Slot, err)
	}
	if _, err := r.Claim("b", plan.Shape{}, func(plan.Cluster) bool { return false }); err == nil {
		t.Error("a slot is given though none can be used")
	}
	if _, found, err := r.Find("b"); found || err != nil {
		t.Errorf("a refused claim is recorded: %v", err)
	}
}

// A run that dies while files are removed leaves the entry, so that the next one goes on.
func TestForgetRemovesTheEntryLast(t *testing.T) {
	root := t.TempDir()
	r := OpenRegistry(root)
	if _, err := r.Claim("a", plan.Shape{}, anySlot); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"etcd/data", "nodes/node-1/volumes/x"} {
		if _, err := WriteFile(filepath.Join(root, "a", file), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Forget("a"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "a")); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	if err := r.Forget("a"); err != nil {
		t.Errorf("forgetting twice: %v", err)
	}
}

func TestWhenEmptyLeavesNothing(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	r := OpenRegistry(root)
	if _, err := r.Claim("a", plan.Shape{}, anySlot); err != nil {
		t.Fatal(err)
	}
	unwanted := func() error { return errors.New("called though a cluster is recorded") }
	if err := r.WhenEmpty(unwanted); err != nil {
		t.Fatal(err)
	}
	if err := r.Forget("a"); err != nil {
		t.Fatal(err)
	}
	called := false
	if err := r.WhenEmpty(func() error { called = true; return nil }); err != nil || !called {
		t.Fatalf("called %v, %v", called, err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("the registry is left: %v", err)
	}
}

func TestClaimKeepsTheShape(t *testing.T) {
	r := OpenRegistry(t.TempDir())
	if _, err := r.Claim("a", plan.Shape{Domain: "k8s.example"}, anySlot); err != nil {
		t.Fatal(err)
	}
	if entry, err := r.Claim("a", plan.Shape{}, anySlot); err != nil || entry.Domain != "k8s.example" {
		t.Errorf("%+v, %v, want the shape that was asked for at first", entry, err)
	}
	if _, err := r.Claim("a", plan.Shape{Domain: "cluster.local"}, anySlot); err == nil {
		t.Error("a cluster is taken for one of another domain")
	}
}
