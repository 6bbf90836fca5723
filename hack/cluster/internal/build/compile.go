// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// compiled is a binary made from a module of this folder.
type compiled struct {
	name string
	// module is the folder below hack/cluster whose go.mod pins the sources; pkg is the package to build there.
	module, pkg string
	target      string
	ldflags     string
	// note says what to expect of the first build.
	note string
}

func (c Cache) programs() []compiled {
	version := strings.Split(strings.TrimPrefix(KubernetesVersion, "v"), ".")
	const prefix = "k8s.io/component-base/version."
	ldflags := fmt.Sprintf("-X %sgitVersion=%s -X %sgitMajor=%s -X %sgitMinor=%s",
		prefix, KubernetesVersion, prefix, version[0], prefix, version[1])
	programs := []compiled{
		{name: "pause", module: ".", pkg: "./pause", target: c.Pause()},
		{name: "etcd", module: "etcd", pkg: "go.etcd.io/etcd/server/v3", target: c.Etcd(), note: "about 2 min the first time"},
		{name: "coredns", module: "coredns", pkg: ".", target: c.CoreDNS(), note: "about 2 min the first time"},
		{name: "netpol", module: "netpol", pkg: ".", target: c.Policy(), note: "about 2 min the first time"},
	}
	notes := map[string]string{"kube-apiserver": "about 10 min the first time", "kubelet": "about 3 min the first time"}
	for _, name := range []string{"kube-apiserver", "kubectl", "kube-scheduler", "kube-controller-manager", "kube-proxy", "kubelet"} {
		note := notes[name]
		if note == "" {
			note = "about 1 min the first time"
		}
		programs = append(programs, compiled{name: name, module: "kubernetes", pkg: "k8s.io/kubernetes/cmd/" + name,
			target: c.Kubernetes(name), ldflags: ldflags, note: note})
	}
	return programs
}

// compile builds a program beside its place and renames it there. What the Go build cache already has of an interrupted
// build is not compiled again.
func (c Cache) compile(sources string, p compiled) error {
	release, err := c.lock("compile-" + p.name)
	if err != nil {
		return err
	}
	defer release()
	if isWhole(p.target) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.target), 0o755); err != nil {
		return err
	}
	tmp := p.target + ".tmp"
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", strings.TrimSpace("-s -w "+p.ldflags), "-o", tmp, p.pkg)
	cmd.Dir = filepath.Join(sources, p.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	// A killed run takes its compiler along: the next one writes to the same place.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", p.pkg, err, lastLines(string(out), 20))
	}
	return os.Rename(tmp, p.target)
}
