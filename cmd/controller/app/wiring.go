// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/metrics"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel"
	"github.com/valkeykube/valkeykube/pkg/controller/servicemonitor"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey"
	valkeyplan "github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode"
	valkeydiscovery "github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/etcdcert"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/servingcert"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// newScheme knows the kinds of Kubernetes and ours, and that ours are spoken in protobuf too.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, apiutil.AddToProtobufScheme(v1alpha1.AddToScheme)
}

// cacheOptions keep memory bounded by what is ours: of all kinds that others use too, only objects with the product's label are held. So a
// Secret of somebody else is never in this process, unless a spec names it and it is read past the cache.
func cacheOptions() cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{naming.LabelManagedBy: naming.ManagedBy})}
	byObject := map[client.Object]cache.ByObject{}
	for _, kind := range []client.Object{
		&corev1.Pod{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{},
		&appsv1.StatefulSet{}, &appsv1.Deployment{},
		&policyv1.PodDisruptionBudget{}, &networkingv1.NetworkPolicy{}, &discoveryv1.EndpointSlice{}, &rbacv1.Role{}, &rbacv1.RoleBinding{},
	} {
		byObject[kind] = ours
	}
	return cache.Options{ByObject: byObject, DefaultTransform: keepOwnManagedFields, NewInformer: newInformer}
}

// keepOwnManagedFields drops what is recorded of other writers of an object. What is recorded of us stays: from it is seen whether an apply
// would change anything.
func keepOwnManagedFields(object any) (any, error) {
	holder, ok := object.(client.Object)
	if !ok {
		return object, nil
	}
	for _, entry := range holder.GetManagedFields() {
		if entry.Manager == naming.FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			holder.SetManagedFields([]metav1.ManagedFieldsEntry{entry})
			return object, nil
		}
	}
	holder.SetManagedFields(nil)
	return object, nil
}

// wiring adds the controllers to the running manager once the API of our kinds answers. It runs in every replica, leader or not; the manager
// starts the controllers themselves in the leader only.
type wiring struct {
	mgr     manager.Manager
	options *Options
}

// NeedLeaderElection says that a replica that stands by is wired too.
func (wiring) NeedLeaderElection() bool { return false }

// Start waits for the API and adds the controllers.
func (w wiring) Start(ctx context.Context) error {
	if err := w.awaitAPI(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	clients := valkeyclient.New(valkeyclient.Options{ClientName: naming.FieldManager})
	context.AfterFunc(ctx, clients.Close)
	return setup(w.mgr, w.options, clients)
}

// setup adds the controllers.
func setup(mgr manager.Manager, options *Options, clients *valkeyclient.Client) error {
	dns := options.DNS()
	certificates := &valkeydiscovery.Certificates{Secrets: secrets{mgr.GetAPIReader()}}
	return errors.Join(
		metrics.Setup(mgr),
		servicemonitor.Setup(mgr),
		valkeynode.Setup(mgr, valkeynode.Dependencies{
			AgentImage: options.AgentImage, DNS: dns, Valkey: clients, Certificates: certificates, Concurrency: options.Concurrency,
		}),
		sentinel.Setup(mgr, sentinel.Dependencies{
			AgentImage: options.AgentImage, DNS: dns, SystemNamespace: options.SystemNamespace, Valkey: clients, Handshakes: clients,
			Certificates: certificates, Concurrency: options.Concurrency,
		}),
		valkey.Setup(mgr, valkey.Dependencies{
			Environment: valkeyplan.Environment{SystemNamespace: options.SystemNamespace, DNS: dns}, Valkey: clients, Certificates: certificates,
			Concurrency: 2 * options.Concurrency,
		}))
}

// awaitAPI returns when the API group answers for the first time. It may be away later: the caches then wait by themselves.
func (w wiring) awaitAPI(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfigAndClient(w.mgr.GetConfig(), w.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make a discovery client: %w", err)
	}
	const every, patience, tellEvery = time.Second, 5 * time.Second, 30
	group := v1alpha1.SchemeGroupVersion.String()
	for attempt := 0; ; attempt++ {
		err := client.RESTClient().Get().AbsPath("/apis/" + group).Timeout(patience).Do(ctx).Error()
		if err == nil {
			return nil
		}
		if attempt%tellEvery == 0 {
			ctrl.Log.Info("waiting for the API", "groupVersion", group, "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// servingCertificate keeps the API server's certificate with clients of its own: it must work before anything of the manager does.
func servingCertificate(restConfig *rest.Config, options *Options) (*servingcert.Keeper, error) {
	kube, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &servingcert.Keeper{
		Kube: kube, Dynamic: dynamicClient, Namespace: options.SystemNamespace, ClusterDomain: options.DNS().ClusterDomain,
	}, nil
}

// etcdCertificates keeps the certificates of the API server's etcd, before the manager for the same reason.
func etcdCertificates(restConfig *rest.Config, options *Options) (*etcdcert.Keeper, error) {
	kube, err := kubernetes.NewForConfig(restConfig)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return &etcdcert.Keeper{
		Kube: kube, Namespace: options.SystemNamespace, ClusterDomain: options.DNS().ClusterDomain, Members: options.EtcdCertificates,
	}, nil
}

// secrets reads Secrets past the cache, which holds the product's own only.
type secrets struct{ reader client.Reader }

// SecretData reads one Secret.
func (s secrets) SecretData(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	secret := &corev1.Secret{}
	if err := s.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		return nil, err
	}
	return secret.Data, nil
}
