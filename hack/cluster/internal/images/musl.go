// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import "github.com/valkeykube/valkeykube/hack/cluster/internal/build"

// Musl is a server image laid out as the one on Alpine Linux is: another C library, a shell that starts the server, the programs elsewhere, and
// another group. It has one of the modules that come with Valkey's source. It is not Alpine's own, which no package archive has.
func Musl(valkey build.MuslValkey) Image {
	const entrypoint = "#!/bin/sh\nset -e\n[ \"${1#-}\" = \"$1\" ] || set -- valkey-server \"$@\"\nexec \"$@\"\n"
	return Image{
		Reference: "docker.io/valkey/valkey:" + build.MuslVersion + "-alpine",
		Files: []File{
			{Path: "/lib/ld-musl-x86_64.so.1", Source: valkey.Loader},
			{Path: "/bin/busybox", Source: valkey.Shell},
			{Path: "/bin/sh", Link: "/bin/busybox"},
			{Path: "/usr/local/bin/valkey-server", Source: valkey.Server},
			{Path: "/usr/local/bin/valkey-sentinel", Link: "valkey-server"},
			{Path: "/usr/local/bin/valkey-cli", Source: valkey.Client},
			{Path: "/usr/lib/valkey/modules/helloworld.so", Source: valkey.Module},
			{Path: "/usr/local/bin/docker-entrypoint.sh", Text: entrypoint, Mode: 0o755},
			{Path: "/etc/passwd", Text: "root:x:0:0:root:/root:/bin/sh\nvalkey:x:999:1000:valkey:/data:/bin/sh\n", Mode: 0o644},
			{Path: "/etc/group", Text: "root:x:0:\nvalkey:x:1000:\n", Mode: 0o644},
			{Path: "/data", Dir: true, UID: valkeyUser},
			{Path: "/tmp", Dir: true, Mode: 0o1777},
		},
		Entrypoint: []string{"docker-entrypoint.sh"},
		Cmd:        []string{"valkey-server"},
		WorkingDir: "/data",
	}
}
