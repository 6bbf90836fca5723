// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

const netnsDir = "/run/netns"

// HasNetns tells whether a network namespace of that name is there and usable: a run that died between making the name
// and binding the namespace to it leaves a plain file.
func HasNetns(name string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(filepath.Join(netnsDir, name), &fs) == nil && fs.Type == unix.NSFS_MAGIC
}

// AddNetns makes a network namespace with its loopback interface up, forwarding on and no way out; ipv6 tells whether it has any IPv6.
func AddNetns(name string, ipv6 bool) error {
	if HasNetns(name) {
		return nil
	}
	if err := DeleteNetns(name); err != nil {
		return err
	}
	if err := Run("ip", "netns", "add", name); err != nil {
		return err
	}
	return InNetns(name, func() error {
		settings := map[string]string{
			"net/ipv4/ip_forward":                "1",
			"net/bridge/bridge-nf-call-iptables": "0",
			"net/ipv4/conf/all/rp_filter":        "0",
		}
		maps.Copy(settings, ipv6Settings(ipv6))
		for name, value := range settings {
			// A machine without IPv6 or without bridge filtering lacks the setting and needs it not.
			if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0); err != nil && !os.IsNotExist(err) {
				return fmt.Errorf("set %s: %w", name, err)
			}
		}
		return Run("ip", "link", "set", "lo", "up")
	})
}

func ipv6Settings(on bool) map[string]string {
	if !on {
		return map[string]string{"net/ipv6/conf/all/disable_ipv6": "1", "net/ipv6/conf/default/disable_ipv6": "1"}
	}
	return map[string]string{
		"net/ipv6/conf/all/disable_ipv6":      "0",
		"net/ipv6/conf/default/disable_ipv6":  "0",
		"net/ipv6/conf/all/forwarding":        "1",
		"net/bridge/bridge-nf-call-ip6tables": "0",
		// Nobody else gives addresses out, so none is tried out for a second before it may be used.
		"net/ipv6/conf/all/accept_dad":     "0",
		"net/ipv6/conf/default/accept_dad": "0",
	}
}

// DeleteNetns removes a network namespace and every interface in it. One that is not there is no error.
func DeleteNetns(name string) error {
	path := filepath.Join(netnsDir, name)
	for unix.Unmount(path, unix.MNT_DETACH) == nil {
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove network namespace %s: %w", name, err)
	}
	return nil
}

// ListNetns returns the names of network namespaces that start with prefix.
func ListNetns(prefix string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(netnsDir, prefix+"*"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	return names, nil
}

// EnterNetns moves the calling goroutine's thread into a network namespace. The caller has locked it to its thread, and
// lets the thread end or exec with it.
func EnterNetns(name string) error {
	f, err := os.Open(filepath.Join(netnsDir, name))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", name, err)
	}
	return nil
}

// InNetns calls do inside a network namespace; programs that do starts are in it too.
func InNetns(name string, do func() error) error {
	result := make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine instead of going on in the wrong namespace.
		runtime.LockOSThread()
		if err := EnterNetns(name); err != nil {
			result <- err
			return
		}
		result <- do()
	}()
	return <-result
}

// HasLink tells whether a namespace has an interface of that name.
func HasLink(netns, link string) bool {
	_, err := Output("ip", "-n", netns, "link", "show", "dev", link)
	return err == nil
}

// LinkIsUp tells whether an interface is switched on, with or without something at its other end.
func LinkIsUp(netns, link string) (bool, error) {
	out, err := Output("ip", "-n", netns, "-o", "link", "show", "dev", link)
	if err != nil {
		return false, err
	}
	_, flags, _ := strings.Cut(out, "<")
	flags, _, _ = strings.Cut(flags, ">")
	for flag := range strings.SplitSeq(flags, ",") {
		if flag == "UP" {
			return true, nil
		}
	}
	return false, nil
}

// SetLink switches an interface on or off.
func SetLink(netns, link string, up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	return Run("ip", "-n", netns, "link", "set", link, state)
}
