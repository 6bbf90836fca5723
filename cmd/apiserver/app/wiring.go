// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net"
	"net/http"

	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"github.com/valkeykube/valkeykube/pkg/apiserver"
	"github.com/valkeykube/valkeykube/pkg/apiserver/embeddedetcd"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/failover"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/monitors"
)

// Server is a server with everything it needs, built and not yet running.
type Server struct {
	*apiserver.Server

	etcd       *embeddedetcd.Server
	background []func(context.Context)
	closers    []func()
}

// Close lets go of what the server holds, storage last. Call it when Run has returned.
func (s *Server) Close() {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
}

// Build puts a server together. It waits for the core API where that is away. Close what it returns.
func Build(ctx context.Context, options *Options) (*Server, error) {
	server := &Server{}
	if err := server.build(ctx, options); err != nil {
		server.Close()
		return nil, err
	}
	return server, nil
}

func (s *Server) build(ctx context.Context, options *Options) error {
	if !options.Standalone {
		if err := waitForCoreAPI(ctx, options); err != nil {
			return err
		}
	}
	if options.EmbedsEtcd() {
		etcd, err := embeddedetcd.Start(ctx, embeddedetcd.Options{DataDir: options.DataDir, QuotaBytes: options.EtcdQuotaBytes})
		if err != nil {
			return err
		}
		s.etcd = etcd
		s.closers = append(s.closers, etcd.Close)
		s.background = append(s.background, etcd.Maintain)
		options.Recommended.Etcd.StorageConfig.Transport.ServerList = []string{etcd.Endpoint()}
	}
	config := apiserver.NewConfig()
	if err := apply(options, config.Generic); err != nil {
		return err
	}
	if !options.Standalone {
		s.recognise(config.Generic)
		if err := s.guardStore(options, config.Generic); err != nil {
			return err
		}
	}
	if s.etcd != nil {
		withFilter(config.Generic, fullStore{s.etcd}.Filter)
	}
	withFilter(config.Generic, monitors.KnowPrinted)
	withFilter(config.Generic, failover.Strict)
	lives, err := s.live(options, config.Generic)
	if err != nil {
		return err
	}
	config.Live = lives
	built, err := config.New()
	if err != nil {
		return err
	}
	s.Server = built
	return nil
}

// apply is RecommendedOptions.ApplyTo, except that objects are stored as --storage-media-type says: the library's own way
// ignores it.
func apply(options *Options, config *genericapiserver.RecommendedConfig) error {
	if err := options.Run.ApplyTo(&config.Config); err != nil {
		return err
	}
	if err := options.Recommended.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.ParseIP("127.0.0.1")}); err != nil {
		return fmt.Errorf("self-signed certificate: %w", err)
	}
	etcd := options.Recommended.Etcd
	options.Recommended.Etcd = nil
	err := options.Recommended.ApplyTo(config)
	options.Recommended.Etcd = etcd
	if err != nil {
		return err
	}
	storage := etcd.StorageConfig
	storage.StorageObjectCountTracker = config.StorageObjectCountTracker
	factory := serverstorage.NewDefaultStorageFactory(storage, etcd.DefaultStorageMediaType, apiserver.Codecs,
		serverstorage.NewDefaultResourceEncodingConfigForEffectiveVersion(apiserver.Scheme, config.EffectiveVersion),
		serverstorage.NewResourceConfig(), nil)
	return etcd.ApplyWithStorageFactoryTo(factory, &config.Config)
}

// withFilter puts a filter in front of the handlers of requests that have been authenticated and authorized.
func withFilter(config *genericapiserver.RecommendedConfig, filter func(http.Handler) http.Handler) {
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return chain(filter(handler), config)
	}
}
