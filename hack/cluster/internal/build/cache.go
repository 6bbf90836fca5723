// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Versions of what is built. A changed version gets a new place in the cache; the old one stays until it is removed by hand.
const (
	KubernetesVersion = "v1.37.2"
	EtcdVersion       = "v3.7.0"
	CoreDNSVersion    = "v1.15.0"
	// PolicyVersion is kube-router's, of which the enforcer of network policies is a part.
	PolicyVersion = "v2.1.0"
	// PauseVersion counts the changes of the pause program.
	PauseVersion = "v1"
)

// ValkeyVersions are the server versions for which images are made.
var ValkeyVersions = []string{"8.0", "8.1", "9.1"}

// Cache is the folder outside the checkout that keeps what was downloaded and compiled.
type Cache struct{ Dir string }

// DefaultCache follows VALKEYKUBE_CACHE, then XDG_CACHE_HOME, then ~/.cache.
func DefaultCache() (Cache, error) {
	if dir := os.Getenv("VALKEYKUBE_CACHE"); dir != "" {
		return Cache{Dir: dir}, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return Cache{}, fmt.Errorf("find the cache folder: %w", err)
	}
	return Cache{Dir: filepath.Join(base, "valkeykube")}, nil
}

// Kubernetes is the path of a Kubernetes binary.
func (c Cache) Kubernetes(name string) string {
	return filepath.Join(c.Dir, "bin", "kubernetes-"+KubernetesVersion, name)
}

// Etcd is the path of the etcd binary.
func (c Cache) Etcd() string { return filepath.Join(c.Dir, "bin", "etcd-"+EtcdVersion, "etcd") }

// CoreDNS is the path of the CoreDNS binary.
func (c Cache) CoreDNS() string {
	return filepath.Join(c.Dir, "bin", "coredns-"+CoreDNSVersion, "coredns")
}

// Policy is the path of the enforcer of network policies.
func (c Cache) Policy() string {
	return filepath.Join(c.Dir, "bin", "netpol-"+PolicyVersion, "netpol")
}

// Pause is the path of the program that holds a pod's namespaces.
func (c Cache) Pause() string { return filepath.Join(c.Dir, "bin", "pause-"+PauseVersion, "pause") }

// Unpacked is the root file system of a set of Debian packages.
func (c Cache) Unpacked(set string) string { return filepath.Join(c.Dir, set) }

// Runtime is the root file system that holds containerd and ctr.
func (c Cache) Runtime() string { return c.Unpacked(runtimeSet) }

// CNI is the folder of the CNI plugins.
func (c Cache) CNI() string { return filepath.Join(c.Unpacked(cniSet), "usr", "lib", "cni") }

// Valkey is the root file system of a Valkey version; its bin folder has wrappers that run on any machine.
func (c Cache) Valkey(version string) string { return c.Unpacked(filepath.Join("valkey", version)) }

// Exporter is the root file system that holds the metrics exporter.
func (c Cache) Exporter() string { return c.Unpacked(exporterSet) }

// Firewall is the folder of iptables and ipset, which run on any machine.
func (c Cache) Firewall() string { return filepath.Join(c.Unpacked(firewallSet), "bin") }

// lock serialises the makers of one thing over all processes; the lock is dropped when its holder dies.
func (c Cache) lock(name string) (release func(), err error) {
	dir := filepath.Join(c.Dir, "locks")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return func() { f.Close() }, nil
}

// isWhole tells whether path is a complete binary. The section table is an ELF file's last part,
// so a file that a killed linker left behind fails here.
func isWhole(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0 && len(f.Sections) > 0
}
