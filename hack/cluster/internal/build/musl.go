// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

const (
	// muslSet is the C library that Alpine Linux has, with the headers to compile against it, and a shell of the kind that Alpine has.
	muslSet = "musl"
	// muslLoader is that library, which is the loader too; muslShell the shell.
	muslLoader, muslShell = "usr/lib/ld-musl-x86_64.so.1", "usr/bin/busybox"
	// MuslVersion is the version of Valkey that is compiled against it.
	MuslVersion = "8.1"
	muslSuite   = "trixie"
)

// MuslValkey is a Valkey that runs on musl, what it needs beside it, and a module that it can load.
type MuslValkey struct{ Server, Client, Module, Loader, Shell string }

// MuslValkey compiles Valkey from Debian's copy of its source, against musl as Alpine's own is. It is made when somebody asks for it, and takes the
// machine's C compiler. It speaks no TLS: there is no OpenSSL for musl here.
func (c Cache) MuslValkey() (MuslValkey, error) {
	root, err := c.onDemand(muslSet)
	if err != nil {
		return MuslValkey{}, err
	}
	dir := filepath.Join(c.Dir, "bin", "valkey-musl-"+MuslVersion)
	made := MuslValkey{
		Server: filepath.Join(dir, "valkey-server"), Client: filepath.Join(dir, "valkey-cli"), Module: filepath.Join(dir, "helloworld.so"),
		Loader: filepath.Join(root, muslLoader), Shell: filepath.Join(root, muslShell),
	}
	release, err := c.lock("compile-valkey-musl")
	if err != nil {
		return MuslValkey{}, err
	}
	defer release()
	if isWhole(made.Server) && isWhole(made.Client) && isWhole(made.Module) {
		return made, nil
	}
	work := dir + ".tmp"
	defer func() { _ = os.RemoveAll(work) }()
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o755), os.MkdirAll(dir, 0o755)); err != nil {
		return MuslValkey{}, err
	}
	if err := c.valkeySource(work); err != nil {
		return MuslValkey{}, err
	}
	if err := compileOnMusl(root, work); err != nil {
		return MuslValkey{}, err
	}
	return made, errors.Join(
		os.Rename(filepath.Join(work, "src", "modules", "helloworld.so"), made.Module),
		os.Rename(filepath.Join(work, "src", "valkey-cli"), made.Client), os.Rename(filepath.Join(work, "src", "valkey-server"), made.Server))
}

// valkeySource unpacks the source into dir.
func (c Cache) valkeySource(dir string) error {
	release, err := c.lock("debian")
	if err != nil {
		return err
	}
	defer release()
	apt, err := c.apt(debianSet{name: "valkey-source", suite: muslSuite, source: true})
	if err != nil {
		return err
	}
	if err := apt.run("update", "-qq"); err != nil {
		return fmt.Errorf("read the list of sources of %s: %w", muslSuite, err)
	}
	apt.dir = dir
	if err := apt.run("source", "-qq", "--download-only", "--tar-only", "valkey"); err != nil {
		return fmt.Errorf("download the source of Valkey: %w", err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "valkey_"+MuslVersion+".*.orig.tar.*"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("the source of Valkey %s is not what was downloaded: %v, %w", MuslVersion, found, err)
	}
	if out, err := exec.Command("tar", "-xf", found[0], "-C", dir, "--strip-components=1").CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %s: %w: %s", filepath.Base(found[0]), err, out)
	}
	return nil
}

// compileOnMusl makes the programs in dir, with the compiler told where musl is instead of the machine's C library.
func compileOnMusl(root, dir string) error {
	specs, err := os.ReadFile(filepath.Join(root, "usr", "lib", "x86_64-linux-musl", "musl-gcc.specs"))
	if err != nil {
		return err
	}
	here := strings.ReplaceAll(string(specs), "/usr/lib/x86_64-linux-musl", filepath.Join(root, "usr/lib/x86_64-linux-musl"))
	here = strings.ReplaceAll(here, "/usr/include/x86_64-linux-musl", filepath.Join(root, "usr/include/x86_64-linux-musl"))
	kernel := filepath.Join(dir, "kernel")
	wrapper := fmt.Sprintf("#!/bin/sh\nexec gcc \"$@\" -specs %s -idirafter %s\n", filepath.Join(dir, "musl.specs"), kernel)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "musl.specs"), []byte(here), 0o644),
		os.WriteFile(filepath.Join(dir, "cc"), []byte(wrapper), 0o755), os.MkdirAll(kernel, 0o755)); err != nil {
		return err
	}
	// The kernel's headers stand beside those of the machine's C library, of which nothing may be taken.
	for name, from := range map[string]string{"linux": "linux", "asm-generic": "asm-generic", "asm": "x86_64-linux-gnu/asm"} {
		if err := os.Symlink(filepath.Join(root, "usr", "include", from), filepath.Join(kernel, name)); err != nil {
			return err
		}
	}
	compiler := filepath.Join(dir, "cc")
	err = compile(dir, "make", "-j", strconv.Itoa(runtime.NumCPU()), "-C", "src", "CC="+compiler,
		"MALLOC=libc", "BUILD_TLS=no", "USE_SYSTEMD=no", "OPT=-O2", "valkey-server", "valkey-cli")
	if err != nil {
		return err
	}
	return compile(dir, compiler, "-shared", "-fPIC", "-std=gnu11", "-o", "src/modules/helloworld.so", "src/modules/helloworld.c")
}

func compile(dir string, command ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile Valkey on musl: %s: %w: %s", filepath.Base(command[0]), err, lastLines(string(out), 20))
	}
	return nil
}
