// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"os"
	"testing"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

func TestHashIsAboutHowADaemonIsStarted(t *testing.T) {
	one := Daemon{Name: "etcd", Netns: "n", Args: []string{"etcd", "--x"}, Revision: "1"}
	stopped := one
	stopped.Stopped = true
	if one.Hash() != stopped.Hash() {
		t.Error("stopping a daemon changes how it is started")
	}
	for name, change := range map[string]func(*Daemon){
		"arguments":   func(d *Daemon) { d.Args = []string{"etcd", "--y"} },
		"environment": func(d *Daemon) { d.Env = []string{"A=b"} },
		"namespace":   func(d *Daemon) { d.Netns = "m" },
		"listener":    func(d *Daemon) { d.Listen = "127.0.0.1:1" },
		"revision":    func(d *Daemon) { d.Revision = "2" },
	} {
		other := one
		change(&other)
		if other.Hash() == one.Hash() {
			t.Errorf("other %s, same hash", name)
		}
	}
}

func TestRecordsOfDaemons(t *testing.T) {
	c, err := plan.Below(t.TempDir(), "demo", 0, plan.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	d := DaemonsOf(c)
	if list, err := d.List(); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, name := range []string{"b", "a"} {
		if _, err := d.Put(Daemon{Name: name, Args: []string{name}}); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := d.Put(Daemon{Name: "a", Args: []string{"a"}}); changed || err != nil {
		t.Errorf("the same again: changed %v, %v", changed, err)
	}
	list, err := d.List()
	if err != nil || len(list) != 2 || list[0].Name != "a" {
		t.Fatalf("%v, %v", list, err)
	}
	self, err := Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.Start++
	for name, process := range map[string]Process{"a": self, "b": dead} {
		if _, err := WriteJSON(d.RecordPath(name), process); err != nil {
			t.Fatal(err)
		}
	}
	running, err := d.AllRunning()
	if err != nil || len(running) != 1 || running["a"] != self {
		t.Errorf("%v, %v, want only a", running, err)
	}
	if _, found, err := d.Get("c"); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
}
