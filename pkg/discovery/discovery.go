// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// ErrNoCredentials is the class of failures to find out how to log in: the Secret, or the key in it, does not exist (yet), or
// may not be read (yet).
var ErrNoCredentials = errors.New("no credentials")

// Secrets reads the data of a Secret.
type Secrets interface {
	SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error)
}

// Addresses says where processes listen, as "host:port".
type Addresses interface {
	Node(namespace, node string) string
	Sentinel(namespace, sentinel string, index int) string
}

// ClusterAddresses are the stable host names of pods below a cluster's DNS domain.
type ClusterAddresses struct {
	// Domain is the cluster's, such as "cluster.local".
	Domain string
}

var _ Addresses = ClusterAddresses{}

// Node is where a node listens.
func (a ClusterAddresses) Node(namespace, node string) string {
	return hostPort(naming.NodeHost(node, namespace, a.Domain), naming.PortValkey)
}

// Sentinel is where the Sentinel with this index listens.
func (a ClusterAddresses) Sentinel(namespace, sentinel string, index int) string {
	return hostPort(naming.SentinelHost(sentinel, index, namespace, a.Domain), naming.PortSentinel)
}

func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// Member is a node: how to reach it, and other hosts under which it may be reported.
type Member struct {
	Target  valkeyclient.Target
	Aliases []string
}

// Resolver finds processes. All fields are required.
type Resolver struct {
	Secrets   Secrets
	Addresses Addresses
	// User is which of the product's own users to log in as.
	User string
	// Certificates says how to speak TLS.
	Certificates *Certificates
}

// Members are the nodes of a Valkey, in the order of the given objects. Whether they exist as processes is not looked at.
func (r Resolver) Members(ctx context.Context, valkey *v1alpha1.Valkey, nodes []v1alpha1.ValkeyNode) ([]Member, error) {
	credentials, err := r.credentials(ctx, valkey.Namespace, naming.SystemPasswordsSecret(valkey.Name))
	if err != nil {
		return nil, err
	}
	members := make([]Member, 0, len(nodes))
	for i := range nodes {
		node := &nodes[i]
		encryption, err := r.Certificates.NodeEncryption(ctx, node)
		if err != nil {
			return nil, err
		}
		member := Member{Target: encryption.On(valkeyclient.Target{
			Name: node.Name, Address: r.Addresses.Node(node.Namespace, node.Name), Credentials: credentials,
		})}
		if ip := node.Status.PodIP; ip != "" {
			member.Aliases = []string{ip}
		}
		members = append(members, member)
	}
	return members, nil
}

// Sentinels are the Sentinels of a set, by index: those that are wanted and, while the set shrinks, those that still are.
func (r Resolver) Sentinels(ctx context.Context, set *v1alpha1.ValkeySentinel) ([]valkeyclient.Target, error) {
	credentials, err := r.credentials(ctx, set.Namespace, naming.SentinelPasswordsSecret(set.Name))
	if err != nil {
		return nil, err
	}
	encryption, err := r.Certificates.SentinelEncryption(ctx, set)
	if err != nil {
		return nil, err
	}
	var targets []valkeyclient.Target
	for i := range int(max(set.Spec.Replicas, set.Status.Replicas)) {
		targets = append(targets, encryption.On(valkeyclient.Target{
			Name: naming.SentinelPod(set.Name, i), Address: r.Addresses.Sentinel(set.Namespace, set.Name, i), Credentials: credentials,
		}))
	}
	return targets, nil
}

func (r Resolver) credentials(ctx context.Context, namespace, secret string) (valkeyclient.Credentials, error) {
	data, err := r.Secrets.SecretData(ctx, namespace, secret)
	if err != nil {
		return valkeyclient.Credentials{}, fmt.Errorf("%w: Secret %s: %w", ErrNoCredentials, secret, err)
	}
	password := data[r.User]
	if len(password) == 0 {
		return valkeyclient.Credentials{}, fmt.Errorf("%w: Secret %s has no key %s", ErrNoCredentials, secret, r.User)
	}
	return valkeyclient.Credentials{Username: r.User, Password: string(password)}, nil
}
