// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	runtimeSet  = "containerd"
	cniSet      = "cni"
	exporterSet = "exporter"
	firewallSet = "firewall"
	nodejsSet   = "nodejs"
)

// debianSet is a folder of unpacked Debian packages.
type debianSet struct {
	// name is the folder in the cache.
	name string
	// suite is what apt prefers; base is the suite that has the dependencies, when that is another one.
	suite, base string
	packages    []string
	// proof is a file that must be there at the end.
	proof string
	// libraries adds the packages' shared libraries, the C library with them, so that the set runs on any machine.
	libraries bool
	// onDemand sets are not part of a cluster: see Cache.Nodejs.
	onDemand bool
	// source sets are what packages are made of.
	source bool
}

// debianSets says where each program comes from. The oldest package that does the job is taken where it runs on the
// machine's own C library, because an old binary runs on a new library and not the other way round.
func debianSets() []debianSet {
	return []debianSet{
		{name: "valkey/8.0", suite: "bookworm-backports", base: "bookworm", packages: []string{"valkey-tools"}, proof: valkeyBinary, libraries: true},
		{name: "valkey/8.1", suite: "trixie", packages: []string{"valkey-tools"}, proof: valkeyBinary, libraries: true},
		{name: "valkey/9.1", suite: "sid", packages: []string{"valkey-tools"}, proof: valkeyBinary, libraries: true},
		{name: runtimeSet, suite: "sid", packages: []string{"containerd"}, proof: "usr/bin/containerd"},
		{name: cniSet, suite: "bookworm", packages: []string{"containernetworking-plugins"}, proof: "usr/lib/cni/ptp"},
		{name: exporterSet, suite: "trixie", packages: []string{"prometheus-redis-exporter"}, proof: "usr/bin/prometheus-redis-exporter", libraries: true},
		{name: firewallSet, suite: "bookworm", packages: []string{"iptables", "ipset"}, proof: "usr/sbin/ipset", libraries: true},
		// Debian keeps what others compile into Node.js in packages of their own.
		{name: nodejsSet, suite: "trixie", packages: []string{"nodejs", "node-acorn", "node-cjs-module-lexer", "node-minimatch", "node-undici"},
			proof: "usr/bin/node", libraries: true, onDemand: true},
		{name: muslSet, suite: muslSuite, packages: []string{"musl", "musl-dev", "musl-tools", "linux-libc-dev", "busybox-static"}, proof: muslLoader, onDemand: true},
	}
}

// Nodejs is the root file system that holds Node.js, for clients of the tests. It is fetched when somebody asks for it.
func (c Cache) Nodejs() (string, error) { return c.onDemand(nodejsSet) }

// onDemand fetches a set that is not part of a cluster, where it is missing.
func (c Cache) onDemand(name string) (string, error) {
	for _, set := range debianSets() {
		if set.name == name && !c.hasSet(set) {
			if err := c.unpack(set); err != nil {
				return "", err
			}
		}
	}
	return c.Unpacked(name), nil
}

func (c Cache) hasSet(set debianSet) bool {
	_, err := os.Stat(filepath.Join(c.Unpacked(set.name), ".complete"))
	return err == nil
}

// unpack downloads a set and puts it into its place in one rename.
func (c Cache) unpack(set debianSet) error {
	release, err := c.lock("debian")
	if err != nil {
		return err
	}
	defer release()
	if c.hasSet(set) {
		return nil
	}
	files, err := c.download(set)
	if err != nil {
		return err
	}
	target := c.Unpacked(set.name)
	tmp := target + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	for _, deb := range files {
		if out, err := exec.Command("dpkg", "-x", deb, tmp).CombinedOutput(); err != nil {
			return fmt.Errorf("unpack %s: %w: %s", filepath.Base(deb), err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(tmp, set.proof)); err != nil {
		return fmt.Errorf("packages %v of %s do not contain %s", set.packages, set.suite, set.proof)
	}
	if err := finish(set, tmp, target); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, ".complete"), []byte(strings.Join(files, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.RemoveAll(target); err != nil {
		return err
	}
	return os.Rename(tmp, target)
}

// finish adds to a set what its packages lack. root becomes final afterwards.
func finish(set debianSet, root, final string) error {
	if version, ok := strings.CutPrefix(set.name, "valkey/"); ok {
		return finishValkey(root, final, version)
	}
	if set.name == firewallSet {
		return finishFirewall(root, final)
	}
	return nil
}

// download fetches the packages of a set and returns the .deb files to unpack.
func (c Cache) download(set debianSet) ([]string, error) {
	apt, err := c.apt(set)
	if err != nil {
		return nil, err
	}
	if err := apt.run("update", "-qq"); err != nil {
		return nil, fmt.Errorf("read the package lists of %s: %w", set.suite, err)
	}
	args := append([]string{"install", "-y", "-qq", "--download-only", "--no-install-recommends", "-t", set.suite}, set.packages...)
	// A suite can be replaced under a download; what was fetched stays, so a second try only fetches the rest.
	if err := apt.run(args...); err != nil {
		if err = apt.run(args...); err != nil {
			return nil, fmt.Errorf("download %v of %s: %w", set.packages, set.suite, err)
		}
	}
	all, err := filepath.Glob(filepath.Join(apt.archives, "*.deb"))
	if err != nil {
		return nil, err
	}
	slices.Sort(all)
	var files []string
	for _, deb := range all {
		name, _, _ := strings.Cut(filepath.Base(deb), "_")
		if slices.Contains(set.packages, name) || set.libraries && isLibrary(name) {
			files = append(files, deb)
		}
	}
	return files, nil
}

func isLibrary(pkg string) bool {
	return strings.HasPrefix(pkg, "lib") || pkg == "zlib1g"
}

// apt is apt-get with lists, archives and an (empty) record of installed packages of its own, so that the machine's
// package management is neither read nor changed.
type apt struct {
	options  []string
	archives string
	// dir is where a source is downloaded to.
	dir string
}

func (c Cache) apt(set debianSet) (apt, error) {
	dir := filepath.Join(c.Dir, "debs", strings.ReplaceAll(set.name, "/", "-"))
	archives := filepath.Join(dir, "archives")
	for _, d := range []string{filepath.Join(c.Dir, "debs", "lists-"+set.suite, "partial"), filepath.Join(archives, "partial")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return apt{}, err
		}
	}
	sources := filepath.Join(dir, "sources.list")
	kind := "deb"
	if set.source {
		kind = "deb-src"
	}
	if err := os.WriteFile(sources, []byte(sourcesList(kind, set.suite, set.base)), 0o644); err != nil {
		return apt{}, err
	}
	status := filepath.Join(dir, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return apt{}, err
	}
	return apt{archives: archives, options: []string{
		"-o", "Dir::Etc::sourcelist=" + sources,
		"-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::Etc::preferencesparts=-",
		"-o", "Dir::State::lists=" + filepath.Join(c.Dir, "debs", "lists-"+set.suite),
		"-o", "Dir::State::status=" + status,
		"-o", "Dir::State::extended_states=" + filepath.Join(dir, "extended_states"),
		"-o", "Dir::Cache=" + dir,
		"-o", "Dir::Cache::archives=" + archives,
		"-o", "Acquire::Languages=none",
		"-o", "Acquire::Retries=3",
		"-o", "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"-o", "APT::Sandbox::User=root",
		"-o", "APT::Keep-Downloaded-Packages=true",
	}}, nil
}

// debianKeyring is where Debian, and Ubuntu with the package of the same name, keeps the archive's keys.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// sourcesList names where packages come from: kind is deb, or deb-src for what they are made of.
func sourcesList(kind string, suites ...string) string {
	mirror := os.Getenv("VALKEYKUBE_DEBIAN_MIRROR")
	if mirror == "" {
		mirror = "http://deb.debian.org/debian"
	}
	var b strings.Builder
	for _, suite := range suites {
		if suite != "" {
			fmt.Fprintf(&b, "%s [signed-by=%s] %s %s main\n", kind, debianKeyring, mirror, suite)
		}
	}
	return b.String()
}

func (a apt) run(args ...string) error {
	cmd := exec.Command("apt-get", append(slices.Clone(a.options), args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	cmd.Dir = a.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lastLines(string(out), 5))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
