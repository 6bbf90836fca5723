// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
)

const (
	// ExporterReference is the exporter's public name; the content is Debian's build of it.
	ExporterReference = "docker.io/oliver006/redis_exporter:v1.74.0"
	// EtcdReference is etcd's public name, without its version; the content is built from its module.
	EtcdReference = "quay.io/coreos/etcd"
	valkeyUser    = 999
	productUser   = "65532:65532"
)

// ProductPrograms are the programs that get an image each: those of the product, and the client of its tests.
var ProductPrograms = []string{"valkey-apiserver", "valkey-controller", "valkey-agent", "testclient"}

// Product is the image of one of the product's static programs, found in dir.
func Product(dir, program string) Image {
	return Image{
		Reference:  "docker.io/valkeykube/" + program + ":dev",
		Entrypoint: []string{"/" + program},
		User:       productUser,
		Files: []File{
			{Path: "/" + program, Source: filepath.Join(dir, program)},
			{Path: "/tmp", Dir: true, Mode: 0o1777},
		},
	}
}

// System are the images that the cluster itself runs.
func System(cache build.Cache) []Image {
	return []Image{
		{
			Reference:  "docker.io/" + render.PauseImage,
			Entrypoint: []string{"/pause"},
			User:       "65535:65535",
			Files:      []File{{Path: "/pause", Source: cache.Pause()}},
		},
		{
			Reference:  "docker.io/" + render.CoreDNSImage,
			Entrypoint: []string{"/coredns"},
			User:       productUser,
			Files:      []File{{Path: "/coredns", Source: cache.CoreDNS()}},
		},
		{
			Reference:  EtcdReference + ":" + build.EtcdVersion,
			Entrypoint: []string{"/usr/local/bin/etcd"},
			User:       productUser,
			Files:      []File{{Path: "/usr/local/bin/etcd", Source: cache.Etcd()}},
		},
	}
}

// Servers are the images of Valkey and of its exporter.
func Servers(cache build.Cache) ([]Image, error) {
	var list []Image
	for _, version := range build.ValkeyVersions {
		image, err := valkey(cache.Valkey(version), version)
		if err != nil {
			return nil, err
		}
		list = append(list, image)
	}
	root := cache.Exporter()
	program := filepath.Join(root, "usr", "bin", "prometheus-redis-exporter")
	libraries, err := linked(root, build.LibraryDirs(root), program)
	if err != nil {
		return nil, err
	}
	return append(list, Image{
		Reference:  ExporterReference,
		Entrypoint: []string{"/redis_exporter"},
		User:       "59000:59000",
		Files:      append(libraries, File{Path: "/redis_exporter", Source: program}),
	}), nil
}

// valkey is a server image with the programs, what they are linked to, and nothing else: no shell.
func valkey(root, version string) (Image, error) {
	server := filepath.Join(root, "usr", "bin", "valkey-check-rdb")
	client := filepath.Join(root, "usr", "bin", "valkey-cli")
	bench := filepath.Join(root, "usr", "bin", "valkey-benchmark")
	files, err := linked(root, build.LibraryDirs(root), server, client, bench)
	if err != nil {
		return Image{}, err
	}
	files = append(files,
		File{Path: "/usr/bin/valkey-server", Source: server},
		File{Path: "/usr/bin/valkey-sentinel", Link: "valkey-server"},
		File{Path: "/usr/bin/valkey-check-aof", Link: "valkey-server"},
		File{Path: "/usr/bin/valkey-check-rdb", Link: "valkey-server"},
		File{Path: "/usr/bin/valkey-cli", Source: client},
		File{Path: "/usr/bin/valkey-benchmark", Source: bench},
		File{Path: "/etc/passwd", Text: "root:x:0:0:root:/:/sbin/nologin\nvalkey:x:999:999:valkey:/data:/sbin/nologin\n", Mode: 0o644},
		File{Path: "/etc/group", Text: "root:x:0:\nvalkey:x:999:\n", Mode: 0o644},
		File{Path: "/etc/nsswitch.conf", Text: "passwd: files\ngroup: files\nhosts: files dns\n", Mode: 0o644},
		File{Path: "/data", Dir: true, UID: valkeyUser},
		File{Path: "/tmp", Dir: true, Mode: 0o1777},
	)
	return Image{
		Reference:  "docker.io/valkey/valkey:" + version,
		Files:      files,
		Cmd:        []string{"valkey-server"},
		User:       "999:999",
		WorkingDir: "/data",
	}, nil
}
