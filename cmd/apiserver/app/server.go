// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	etcdversion "go.etcd.io/etcd/api/v3/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/component-base/term"
	baseversion "k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/valkeykube/valkeykube/pkg/version"
)

// NewCommand is the command line. It runs until ctx ends, and then ends requests and storage in order.
func NewCommand(ctx context.Context) *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "valkey-apiserver",
		Short: "Serves the API group valkey.io behind the aggregator of a Kubernetes API server",
		Long: "Serves the API group valkey.io behind the aggregator of a Kubernetes API server.\n\n" +
			"Without --etcd-servers it keeps its objects in an etcd of its own, in --data-dir.",
		SilenceUsage: true,
		Version:      longVersion(),
		PersistentPreRunE: func(*cobra.Command, []string) error {
			return options.registry.Set()
		},
		RunE: func(command *cobra.Command, _ []string) error {
			if err := options.Complete(); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(options.Logs, utilfeature.DefaultFeatureGate); err != nil {
				return err
			}
			cliflag.PrintFlags(command.Flags())
			return Run(command.Context(), options)
		},
		Args: cobra.NoArgs,
	}
	command.SetContext(ctx)
	command.AddCommand(newEtcdCommand())
	sections := options.Flags()
	globalflag.AddGlobalFlags(sections.FlagSet("global"), command.Name())
	for _, section := range sections.FlagSets {
		command.Flags().AddFlagSet(section)
	}
	columns, _, _ := term.TerminalSize(command.OutOrStdout())
	cliflag.SetUsageAndHelpFunc(command, sections, columns)
	return command
}

// Run serves until ctx ends. The options must be complete and valid.
func Run(ctx context.Context, options *Options) error {
	klog.FromContext(ctx).Info("Starting", "version", version.String())
	server, err := Build(ctx, options)
	if err != nil {
		return err
	}
	defer server.Close()
	return server.Run(ctx)
}

// Run serves until ctx ends or the embedded etcd does.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.etcd != nil {
		go func() {
			select {
			case <-ctx.Done():
			case <-s.etcd.Stopped():
				cancel(errors.New("the embedded etcd has stopped"))
			}
		}()
	}
	// These go on while the last requests are answered.
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for _, run := range s.background {
		go run(background)
	}
	if err := s.Generic.PrepareRun().RunWithContext(ctx); err != nil {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// longVersion is what --version says.
func longVersion() string {
	return fmt.Sprintf("%s (Kubernetes libraries %s, etcd %s, %s)", version.String(), baseversion.DefaultKubeBinaryVersion, etcdversion.Version, runtime.Version())
}
