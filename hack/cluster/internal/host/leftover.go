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
	links, err := filepath.Glob(filepath.Join(containerLogs, "*.log"))
	if err != nil {
		return err
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && below(target, root) {
			if err := os.Remove(link); err != nil {
				return err
			}
		}
	}
	return removeEmpty(containerLogs)
}

// RemoveCNIResults removes what libcni keeps of a network's attachments.
func RemoveCNIResults(network string) error {
	files, err := filepath.Glob(filepath.Join(cniResults, network+"-*"))
	if err != nil {
		return err
	}
	// Another network's name may start with this one's.
	own := regexp.MustCompile("^" + regexp.QuoteMeta(network) + "-[0-9a-f]{64}-[a-z0-9]+$")
	for _, file := range files {
		if !own.MatchString(filepath.Base(file)) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return removeEmpty(cniResults, filepath.Dir(cniResults))
}

// RemoveDeadShimSockets removes the sockets of shims that have ended. Their names are hashes, so whether somebody still
// listens is the only way to tell them apart.
func RemoveDeadShimSockets() error {
	sockets, err := filepath.Glob(filepath.Join(shimSockets, "*"))
	if err != nil {
		return err
	}
	for _, socket := range sockets {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			continue
		}
		if errors.Is(err, unix.ECONNREFUSED) {
			if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return removeEmpty(shimSockets, filepath.Dir(shimSockets))
}

// removeEmpty removes folders in turn, as far as they are empty.
func removeEmpty(dirs ...string) error {
	for _, dir := range dirs {
		err := unix.Rmdir(dir)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EBUSY):
			return nil
		default:
			return err
		}
	}
	return nil
}

// PortIsFree tells whether a TCP address of the machine can be listened on.
func PortIsFree(address string) bool {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
