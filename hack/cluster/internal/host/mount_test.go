// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"slices"
	"testing"
)

func TestParseMounts(t *testing.T) {
	table := "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n" +
		"30 22 0:24 / /var/lib/x\\040y rw - tmpfs tmpfs rw,size=1k\n" +
		"31 22 0:25 / /sys/fs/cgroup/pids rw shared:3 master:4 - cgroup cgroup rw,pids\n" +
		"nonsense\n"
	want := []Mount{{"/", "ext4"}, {"/var/lib/x y", "tmpfs"}, {"/sys/fs/cgroup/pids", "cgroup"}}
	if got := parseMounts(table); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestBelow(t *testing.T) {
	for _, tc := range []struct {
		path, root string
		want       bool
	}{
		{"/var/lib/valkeykube/demo", "/var/lib/valkeykube/demo", true},
		{"/var/lib/valkeykube/demo/nodes", "/var/lib/valkeykube/demo", true},
		{"/var/lib/valkeykube/demo/nodes", "/var/lib/valkeykube/demo/", true},
		{"/var/lib/valkeykube/demo-2", "/var/lib/valkeykube/demo", false},
		{"/var/lib", "/var/lib/valkeykube/demo", false},
		{"/", "/var", false},
	} {
		if got := below(tc.path, tc.root); got != tc.want {
			t.Errorf("below(%q, %q) = %v", tc.path, tc.root, got)
		}
	}
}
