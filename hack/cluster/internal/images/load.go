// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"strings"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
)

// Runtime is a containerd to load images into.
type Runtime struct {
	// Ctr is the path of containerd's own client.
	Ctr    string
	Socket string
}

// kubernetesSpace is the part of containerd that the kubelet sees.
const kubernetesSpace = "k8s.io"

// Load imports those archives that the runtime does not have yet, and returns their references.
func (r Runtime) Load(archives []Archive) (loaded []string, err error) {
	present, err := r.present()
	if err != nil {
		return nil, err
	}
	for _, archive := range archives {
		if present[archive.Reference] == archive.Digest {
			continue
		}
		if _, err := r.ctr("images", "import", "--digests=false", archive.Path); err != nil {
			return loaded, err
		}
		loaded = append(loaded, archive.Reference)
	}
	return loaded, nil
}

// present maps the references in the runtime to their digests.
func (r Runtime) present() (map[string]string, error) {
	out, err := r.ctr("images", "list")
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for line := range strings.Lines(out) {
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[2], "sha256:") {
			digests[fields[0]] = fields[2]
		}
	}
	return digests, nil
}

func (r Runtime) ctr(args ...string) (string, error) {
	return host.Output(r.Ctr, append([]string{"--address", r.Socket, "--namespace", kubernetesSpace}, args...)...)
}
