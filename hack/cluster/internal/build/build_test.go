// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInterruptedBinaryIsNotWhole(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		content []byte
		mode    os.FileMode
		want    bool
	}{
		"whole":          {content, 0o755, true},
		"cut off":        {content[:len(content)/2], 0o755, false},
		"not executable": {content, 0o644, false},
		"empty":          {nil, 0o755, false},
		"text":           {[]byte("#!/bin/sh\n"), 0o755, false},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, tc.content, tc.mode); err != nil {
			t.Fatal(err)
		}
		if got := isWhole(path); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if isWhole(filepath.Join(dir, "missing")) {
		t.Error("a missing file is whole")
	}
}

func TestCacheFollowsTheEnvironment(t *testing.T) {
	for name, tc := range map[string]struct{ own, xdg, want string }{
		"own":  {"/x/own", "/x/xdg", "/x/own"},
		"xdg":  {"", "/x/xdg", "/x/xdg/valkeykube"},
		"home": {"", "", "/x/home/.cache/valkeykube"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VALKEYKUBE_CACHE", tc.own)
			t.Setenv("XDG_CACHE_HOME", tc.xdg)
			t.Setenv("HOME", "/x/home")
			if got, err := DefaultCache(); err != nil || got.Dir != tc.want {
				t.Errorf("%s, %v, want %s", got.Dir, err, tc.want)
			}
		})
	}
}

func TestSourcesAreSignedAndOfTheSuitesAlone(t *testing.T) {
	t.Setenv("VALKEYKUBE_DEBIAN_MIRROR", "http://mirror.test/debian")
	want := "deb [signed-by=" + debianKeyring + "] http://mirror.test/debian bookworm-backports main\n" +
		"deb [signed-by=" + debianKeyring + "] http://mirror.test/debian bookworm main\n"
	if got := sourcesList("deb", "bookworm-backports", "bookworm"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := sourcesList("deb-src", "sid", ""); strings.Count(got, "\n") != 1 {
		t.Errorf("%q: one line is wanted", got)
	}
}

func TestEveryProgramHasItsOwnVersionedPlace(t *testing.T) {
	c := Cache{Dir: "/cache"}
	seen := map[string]bool{}
	for _, p := range c.programs() {
		if seen[p.target] {
			t.Errorf("%s is made twice", p.target)
		}
		seen[p.target] = true
		if version := filepath.Base(filepath.Dir(p.target)); !strings.Contains(version, "-v") {
			t.Errorf("%s: no version in its place", p.target)
		}
	}
	if !seen[c.Kubernetes("kubelet")] || !seen[c.Etcd()] || !seen[c.CoreDNS()] || !seen[c.Pause()] {
		t.Errorf("a program is not made: %v", seen)
	}
}

func TestProgressSaysWhatAndHowFar(t *testing.T) {
	var out bytes.Buffer
	p := NewProgress(&out, 2)
	if err := p.Step("compiling x (about 1 min)", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space")
	if err := p.Step("compiling y", func() error { return broken }); !errors.Is(err, broken) || !strings.Contains(err.Error(), "compiling y") {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"[1/2] compiling x (about 1 min) ...\n", "[1/2] compiling x (about 1 min): done in ", "[2/2] compiling y: failed after "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}
