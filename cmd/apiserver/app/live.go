// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/valkeykube/valkeykube/pkg/apiserver"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// secrets reads Secrets one by one: the API server may read those that a Role of their instance names, and list none.
type secrets struct {
	client corev1client.SecretsGetter
}

var _ discovery.Secrets = secrets{}

// SecretData reads one Secret.
func (s secrets) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret, err := s.client.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return secret.Data, nil
}

// noSecrets is what there is without a core API.
type noSecrets struct{}

// SecretData finds nothing.
func (noSecrets) SecretData(context.Context, string, string) (map[string][]byte, error) {
	return nil, errors.New("there is no core API")
}

// noController is what is known of the controller without a core API.
type noController struct{}

// IsAway is not known.
func (noController) IsAway(context.Context) bool { return false }

// lease is the controller's: whoever holds it keeps renewing it, and gives it back when it ends.
type lease struct {
	client coordinationclient.LeasesGetter
	// namespace of the product.
	namespace string
}

var _ live.Controller = lease{}

// IsAway tells whether nobody holds the lease.
func (l lease) IsAway(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	found, err := l.client.Leases(l.namespace).Get(ctx, naming.FieldManager, metav1.GetOptions{})
	if err != nil {
		return false
	}
	spec := found.Spec
	if ptr.Deref(spec.HolderIdentity, "") == "" {
		return true
	}
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return false
	}
	return time.Since(spec.RenewTime.Time) > time.Duration(*spec.LeaseDurationSeconds)*time.Second
}

// live makes what live subresources ask.
func (s *Server) live(options *Options, config *genericapiserver.RecommendedConfig) (live.Dependencies, error) {
	resolver := discovery.Resolver{
		Secrets: options.Secrets, Addresses: options.Addresses, User: naming.UserAPIServer,
	}
	if resolver.Addresses == nil {
		resolver.Addresses = discovery.ClusterAddresses{Domain: options.ClusterDomain}
	}
	controller := options.Controller
	if controller == nil {
		controller = noController{}
	}
	switch {
	case resolver.Secrets != nil:
	case config.ClientConfig == nil:
		resolver.Secrets = noSecrets{}
	default:
		client, err := kubernetes.NewForConfig(config.ClientConfig)
		if err != nil {
			return live.Dependencies{}, fmt.Errorf("client of the core API: %w", err)
		}
		resolver.Secrets = secrets{client.CoreV1()}
		if options.Controller == nil {
			controller = lease{client: client.CoordinationV1(), namespace: options.Namespace}
		}
	}
	resolver.Certificates = &discovery.Certificates{Secrets: resolver.Secrets}
	clients := valkeyclient.New(valkeyclient.Options{ClientName: apiserver.Name})
	s.closers = append(s.closers, clients.Close)
	return live.Dependencies{Processes: resolver, Clients: clients, Snapshots: clients, Controller: controller, Clock: clock.RealClock{}}, nil
}
