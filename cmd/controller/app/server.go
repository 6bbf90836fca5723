// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package app owns the command of the controller: its flags, the manager, and what is wired to it.
package app

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // --logging-format=json
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/version"
)

// NewCommand is the controller's command line. The context ends it.
func NewCommand(ctx context.Context) *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "valkey-controller",
		Short: "Drive the workloads behind Valkeys, ValkeySentinels and ValkeyNodes",
		Long: "valkey-controller makes and keeps what the API group valkey.io asks for: pods, volumes, Services, passwords, replication, " +
			"and what the Sentinels monitor. It also keeps the API server's serving certificate.",
		SilenceUsage: true,
		Version:      version.String(),
		RunE: func(*cobra.Command, []string) error {
			if err := logsapi.ValidateAndApply(options.Logs, nil); err != nil {
				return err
			}
			if err := options.Validate(); err != nil {
				return err
			}
			return Run(ctx, options)
		},
	}
	options.AddFlags(command.Flags())
	return command
}

// forEver is how long the caches may take to fill. The API of our own kinds may be away when the controller starts, and for hours: that is no
// reason to end.
const forEver = 10 * 365 * 24 * time.Hour

// Run runs the controller until the context ends or it loses the leadership.
func Run(ctx context.Context, options *Options) error {
	ctrl.SetLogger(klog.Background())
	restConfig, err := options.RESTConfig()
	if err != nil {
		return err
	}
	if options.SystemNamespace == "" {
		if options.SystemNamespace, err = home(ctx, restConfig); err != nil {
			return err
		}
	}
	mgr, err := newManager(restConfig, options)
	if err != nil {
		return err
	}
	if options.ServingCert {
		keeper, err := servingCertificate(restConfig, options)
		if err != nil {
			return err
		}
		// Beside the manager: its caches need the API, and the API needs the certificate.
		go keeper.Run(ctx)
	}
	if options.EtcdCertificates > 0 {
		keeper, err := etcdCertificates(restConfig, options)
		if err != nil {
			return err
		}
		go keeper.Run(ctx)
	}
	if err := mgr.Add(wiring{mgr: mgr, options: options}); err != nil {
		return fmt.Errorf("add the controllers: %w", err)
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}

func newManager(restConfig *rest.Config, options *Options) (manager.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	// Names are for metrics, and constants: one process may run several controllers of a name, one after the other, as tests do.
	anyName := true
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(),
		Controller:                    config.Controller{CacheSyncTimeout: forEver, SkipNameValidation: &anyName},
		Metrics:                       metricsserver.Options{BindAddress: options.MetricsAddress},
		HealthProbeBindAddress:        options.HealthAddress,
		LeaderElection:                options.LeaderElect,
		LeaderElectionID:              naming.FieldManager,
		LeaderElectionNamespace:       options.SystemNamespace,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	return mgr, nil
}
