// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

// Places outside a cluster's own folder where the kubelet, libcni and containerd write, whatever they are told.
const (
	containerLogs = "/var/log/containers"
	cniResults    = "/var/lib/cni/results"
	shimSockets   = "/run/containerd/s"
)

// RemoveLogLinks removes the kubelet's links to logs below root.
func RemoveLogLinks(root string) error {
	return removeMatching(filepath.Join(containerLogs, "*.log"), func(link string) bool {
		target, err := os.Readlink(link)
		return err == nil && below(target, root)
	})
}

// RemoveCNIResults removes what libcni keeps of a network's attachments.
func RemoveCNIResults(network string) error {
	// Another network's name may start with this one's.
	own := regexp.MustCompile("^" + regexp.QuoteMeta(network) + "-[0-9a-f]{64}-[a-z0-9]+$")
	return removeMatching(filepath.Join(cniResults, network+"-*"), func(file string) bool {
		return own.MatchString(filepath.Base(file))
	})
}

// RemoveDeadShimSockets removes the sockets of shims that have ended. Their names are hashes, so whether somebody still
// listens is the only way to tell them apart.
func RemoveDeadShimSockets() error {
	return removeMatching(filepath.Join(shimSockets, "*"), isDead)
}

func removeMatching(pattern string, match func(path string) bool) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, path := range paths {
		if !match(path) {
			continue
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// isDead tells whether a path is a unix socket on which nobody listens.
func isDead(path string) bool {
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return false
	}
	return errors.Is(err, unix.ECONNREFUSED)
}

// PortIsFree tells whether a TCP address of the machine can be listened on.
func PortIsFree(address string) bool {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
