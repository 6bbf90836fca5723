// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"os"
	"path/filepath"
	"testing"
)

// The enforcer finds iptables by its name, and each name runs the one binary with the libraries and extensions of the packages.
func TestFirewallWrappers(t *testing.T) {
	root := t.TempDir()
	if err := finishFirewall(root, "/final"); err == nil {
		t.Error("packages without extensions are taken")
	}
	for _, file := range []string{"lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/xtables/libxt_set.so"} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := finishFirewall(root, "/final"); err != nil {
		t.Fatal(err)
	}
	const run = "#!/bin/sh\n# Runs the unpacked Debian package with the libraries of its own suite.\n" +
		"XTABLES_LIBDIR=/final/usr/lib/x86_64-linux-gnu/xtables exec /final/lib64/ld-linux-x86-64.so.2 --library-path /final/usr/lib/x86_64-linux-gnu:/final/usr/lib --argv0 "
	for program, want := range map[string]string{
		"iptables-restore": run + "iptables-restore /final/usr/sbin/xtables-nft-multi \"$@\"\n",
		"ipset":            run + "ipset /final/usr/sbin/ipset \"$@\"\n",
	} {
		if got, err := os.ReadFile(filepath.Join(root, "bin", program)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", program, err, got, want)
		}
	}
}
