// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/storeidentity"
)

// Where every Kubernetes API server publishes how its requests to us are to be recognised.
const (
	authenticationNamespace = "kube-system"
	authenticationConfigMap = "extension-apiserver-authentication"
)

func coreAPIConfig(options *Options) (*rest.Config, error) {
	if path := options.Recommended.CoreAPI.CoreAPIKubeconfigPath; path != "" {
		return clientcmd.BuildConfigFromFlags("", path)
	}
	return rest.InClusterConfig()
}

// waitForCoreAPI returns when the core API tells how to recognise its requests, or with ctx. Ending instead would turn an
// outage of the core API into a crash loop with growing delays.
func waitForCoreAPI(ctx context.Context, options *Options) error {
	config, err := coreAPIConfig(options)
	if err != nil {
		return fmt.Errorf("configuration of the core API: %w", err)
	}
	config.Timeout = 5 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the core API: %w", err)
	}
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ConfigMaps(authenticationNamespace).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
		if err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Waiting for the core API")
		}
		return err == nil, nil
	})
}

// recognise answers nobody before the aggregator can be told from others.
func (s *Server) recognise(config *genericapiserver.RecommendedConfig) {
	headers := config.Authentication.RequestHeaderConfig
	if headers == nil {
		return
	}
	gate := &recognition{bundle: headers.CAContentProvider.CurrentCABundleContent}
	s.background = append(s.background, gate.Run)
	config.AddReadyzChecks(gate)
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, config *genericapiserver.Config) http.Handler {
		return gate.Filter(chain(handler, config))
	}
}

// guardStore keeps a store from being served that is not the one on record.
func (s *Server) guardStore(options *Options, config *genericapiserver.RecommendedConfig) error {
	kubeClient, err := kubernetes.NewForConfig(config.ClientConfig)
	if err != nil {
		return fmt.Errorf("client of the core API: %w", err)
	}
	client, err := etcdClient(options)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() { _ = client.Close() })
	guard := storeidentity.New(
		storeidentity.NewEtcd(client, StoragePrefix), storeidentity.NewConfigMap(kubeClient.CoreV1().ConfigMaps(options.Namespace)),
		storeidentity.NewWorkloads(kubeClient.AppsV1(), naming.LabelManagedBy+"="+naming.ManagedBy, v1alpha1.SchemeGroupVersion.Group))
	s.background = append(s.background, guard.Run)
	config.AddReadyzChecks(guard)
	withFilter(config, guard.Filter)
	return nil
}

func etcdClient(options *Options) (*clientv3.Client, error) {
	transport := options.Recommended.Etcd.StorageConfig.Transport
	certificates, err := etcdTLS(transport)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: transport.ServerList, TLS: certificates, DialTimeout: 5 * time.Second,
		// A member whose machine is gone says no farewell: without this its share of the requests would fail until TCP gives up.
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("client of etcd: %w", err)
	}
	return client, nil
}
