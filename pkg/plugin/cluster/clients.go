// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/scheme"
	typed "github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/typed/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/tunnel"
)

// Clients are a cluster, as one person may see it, and the namespace that is asked about.
type Clients struct {
	Config    *rest.Config
	Namespace string
	Kube      kubernetes.Interface
	API       typed.ValkeyV1alpha1Interface
}

// Connect makes the clients. It dials nothing.
func Connect(config *rest.Config, namespace, userAgent string) (*Clients, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	// What does not answer is in the answers, where it can be printed in its place.
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	config.QPS, config.Burst = 50, 100
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ours, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Clients{Config: config, Namespace: namespace, Kube: kube, API: ours.ValkeyV1alpha1()}, nil
}

// Tunnel opens connections into pods.
func (c *Clients) Tunnel() tunnel.Pods {
	return tunnel.Pods{Config: c.Config, Core: c.Kube.CoreV1().RESTClient()}
}

// live asks for a subresource once: the library would go on asking for some 20 seconds where nobody answers, and show nothing meanwhile.
func (c *Clients) live(resource, name, subresource string) *rest.Request {
	return c.API.RESTClient().Get().Namespace(c.Namespace).Resource(resource).Name(name).SubResource(subresource).MaxRetries(0)
}

// Valkey reads one.
func (c *Clients) Valkey(ctx context.Context, name string) (*v1alpha1.Valkey, error) {
	valkey, err := c.API.Valkeys(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	valkey.TypeMeta = kind("Valkey")
	valkey.ManagedFields = nil
	return valkey, nil
}

// Valkeys reads all of the namespace.
func (c *Clients) Valkeys(ctx context.Context) (*v1alpha1.ValkeyList, error) {
	list, err := c.API.Valkeys(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	list.TypeMeta = kind("ValkeyList")
	for i := range list.Items {
		list.Items[i].TypeMeta = kind("Valkey")
		list.Items[i].ManagedFields = nil
	}
	return list, nil
}

// Sentinel reads one ValkeySentinel.
func (c *Clients) Sentinel(ctx context.Context, name string) (*v1alpha1.ValkeySentinel, error) {
	set, err := c.API.ValkeySentinels(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	set.TypeMeta = kind("ValkeySentinel")
	set.ManagedFields = nil
	return set, nil
}

// Replication asks every member of a Valkey, and its Sentinels.
func (c *Clients) Replication(ctx context.Context, valkey string) (*v1alpha1.Replication, error) {
	seen := &v1alpha1.Replication{}
	if err := c.live("valkeys", valkey, "replication").Do(ctx).Into(seen); err != nil {
		return nil, err
	}
	seen.TypeMeta = kind("Replication")
	return seen, nil
}

// Monitors asks the Sentinels of one set, or of all in the namespace where set is empty.
func (c *Clients) Monitors(ctx context.Context, set string) (*v1alpha1.MonitorList, error) {
	seen := &v1alpha1.MonitorList{}
	request := c.live("valkeysentinels", set, "monitors")
	if set == "" {
		request = c.API.RESTClient().Get().Namespace(c.Namespace).Resource("monitors").MaxRetries(0)
	}
	if err := request.Do(ctx).Into(seen); err != nil {
		return nil, err
	}
	seen.TypeMeta = kind("MonitorList")
	for i := range seen.Items {
		seen.Items[i].TypeMeta = kind("Monitor")
	}
	return seen, nil
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: name}
}

// Failover asks for a change of the primary, once: what is refused is for a person to ask for anew.
func (c *Clients) Failover(ctx context.Context, valkey string, spec v1alpha1.FailoverRequestSpec, dryRun bool) (*v1alpha1.Failover, error) {
	options := metav1.CreateOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	answer := &v1alpha1.Failover{}
	err := c.API.RESTClient().Post().Namespace(c.Namespace).Resource("valkeys").Name(valkey).SubResource("failover").MaxRetries(0).
		VersionedParams(&options, scheme.ParameterCodec).Body(&v1alpha1.Failover{Spec: spec}).Do(ctx).Into(answer)
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// SnapshotRequest addresses the subresource below which snapshots are taken.
func (c *Clients) SnapshotRequest(valkey string) *rest.Request {
	return c.live("valkeys", valkey, "proxy")
}
