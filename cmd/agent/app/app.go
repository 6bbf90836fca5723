// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app owns the agent's command line; what its commands do is in pkg/agent.
package app

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"

	"github.com/valkeykube/valkeykube/pkg/agent/install"
	"github.com/valkeykube/valkeykube/pkg/agent/node"
	"github.com/valkeykube/valkeykube/pkg/agent/process"
	"github.com/valkeykube/valkeykube/pkg/agent/sentinel"
	"github.com/valkeykube/valkeykube/pkg/version"
)

// binaryName is what "install" calls the copy.
const binaryName = "valkey-agent"

const usage = `valkey-agent is the first process of every Valkey data and Sentinel container.

Usage:
  valkey-agent install DIR   copy this binary to DIR/valkey-agent
  valkey-agent node          decide whom this data node follows, run valkey-server, hand over at the end
  valkey-agent sentinel      make this Sentinel's file whole, run it
  valkey-agent --version     print the version

valkey-agent COMMAND --help shows the flags of a command. In a pod none is needed.
`

// exitUsage is the code for a command line that makes no sense.
const exitUsage = 2

// Run carries out the command line and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = fmt.Fprint(stderr, usage)
		return exitUsage
	}
	command, rest := args[0], args[1:]
	switch command {
	case "install":
		return runInstall(rest, stderr)
	case "node":
		return runNode(rest, stderr)
	case "sentinel":
		return runSentinel(rest, stderr)
	case "--version", "-version", "version":
		_, _ = fmt.Fprintln(stdout, "valkey-agent", version.String())
		return 0
	case "--help", "-help", "-h", "help":
		_, _ = fmt.Fprint(stdout, usage)
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "valkey-agent: unknown command %q\n\n%s", command, usage)
	return exitUsage
}

func runInstall(args []string, stderr io.Writer) int {
	if len(args) != 1 || args[0] == "" || args[0][0] == '-' {
		_, _ = fmt.Fprintln(stderr, "usage: valkey-agent install DIR")
		return exitUsage
	}
	self, err := os.Executable()
	if err == nil {
		err = install.Copy(self, args[0], binaryName)
	}
	return code(0, err, stderr)
}

// logger writes one key=value line an entry to standard error; standard output is the server's.
func logger(stderr io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(stderr, nil)).With("agent", version.String())
}

func code(code int, err error, stderr io.Writer) int {
	if err == nil {
		return code
	}
	logger(stderr).Error("ended", "err", err)
	return max(code, 1)
}

// parse is false, with the exit code, when there is nothing to run.
func parse(flags *flag.FlagSet, args []string, stderr io.Writer) (int, bool) {
	flags.SetOutput(stderr)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, false
	case err != nil:
		return exitUsage, false
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(stderr, "valkey-agent %s: unexpected %q\n", flags.Name(), flags.Args())
		return exitUsage, false
	}
	return 0, true
}

func runNode(args []string, stderr io.Writer) int {
	flags, options := nodeFlags()
	if code, run := parse(flags, args, stderr); !run {
		return code
	}
	options.Log, options.Version, options.ReapAll = logger(stderr), version.String(), isInit()
	exitCode, err := node.Run(*options, ready())
	return code(exitCode, err, stderr)
}

func runSentinel(args []string, stderr io.Writer) int {
	flags, options := sentinelFlags()
	if code, run := parse(flags, args, stderr); !run {
		return code
	}
	options.Log, options.Version, options.ReapAll = logger(stderr), version.String(), isInit()
	exitCode, err := sentinel.Run(*options, ready())
	return code(exitCode, err, stderr)
}

// ready takes the signals, and lets nobody else read what is written: configuration with passwords, also when the server writes
// it anew.
func ready() *process.Signals {
	syscall.Umask(0o077)
	return process.CatchSignals()
}

func isInit() bool { return os.Getpid() == 1 }
