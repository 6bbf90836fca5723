// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app wires the plugin to the process that it runs in.
package app

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/valkeykube/valkeykube/pkg/plugin/command"
)

// Run carries out a command line and returns the exit code.
func Run(args []string) int {
	// What the libraries log of connections that end is said by the command itself.
	klog.LogToStderr(false)
	klog.SetOutput(discard{})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return command.Run(ctx, &command.App{
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, Getenv: os.Getenv, Now: time.Now,
	}, args)
}

// discard takes everything and keeps nothing.
type discard struct{}

// Write does nothing.
func (discard) Write(p []byte) (int, error) { return len(p), nil }
