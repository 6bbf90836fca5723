// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package controller

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/cmd/controller/app"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	manifests = "../../../artifacts/deploy"
	// patience is how long is waited for what must happen. Generous: machines are shared and slow.
	patience = 90 * time.Second
)

// cluster is a kube-apiserver without controllers.
type cluster struct {
	environment *envtest.Environment
	config      *rest.Config
	client      client.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{environment: &envtest.Environment{}}
	var err error
	if c.config, err = c.environment.Start(); err != nil {
		t.Fatalf("start kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() {
		if err := c.environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	if c.client, err = client.New(c.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return c
}

// apply makes the objects of a manifest, those that want is true for.
func (c *cluster) apply(t *testing.T, file string, want func(*unstructured.Unstructured) bool) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(manifests, file))
	if err != nil {
		t.Fatal(err)
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if !want(object) {
			continue
		}
		if err := c.client.Create(t.Context(), object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func everything(*unstructured.Unstructured) bool { return true }

// install makes the namespace of the product and the controller's rights, without those on a resource that must do without.
func (c *cluster) install(t *testing.T, without string) {
	t.Helper()
	c.apply(t, "namespace/namespace.yaml", everything)
	c.apply(t, "controller/serviceaccount.yaml", everything)
	c.apply(t, "controller/rbac.yaml", everything)
	role := &rbacv1.ClusterRole{}
	if err := c.client.Get(t.Context(), client.ObjectKey{Name: "valkey-controller"}, role); err != nil {
		t.Fatal(err)
	}
	var rules []rbacv1.PolicyRule
	for _, rule := range role.Rules {
		if len(rule.Resources) != 1 || rule.Resources[0] != without {
			rules = append(rules, rule)
		}
	}
	role.Rules = rules
	if err := c.client.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
}

// serveKinds makes kube-apiserver serve our kinds itself, in place of our API server. It speaks no protobuf.
func (c *cluster) serveKinds(t *testing.T) {
	t.Helper()
	kinds := map[string]string{"valkeys": "Valkey", "valkeysentinels": "ValkeySentinel", "valkeynodes": "ValkeyNode"}
	var definitions []*apiextensionsv1.CustomResourceDefinition
	for plural, kind := range kinds {
		definitions = append(definitions, &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: plural + "." + v1alpha1.GroupName, Annotations: map[string]string{
				"api-approved.kubernetes.io": "a stand-in for tests",
			}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: v1alpha1.GroupName, Scope: apiextensionsv1.NamespaceScoped,
				Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List"},
				Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
					Name: v1alpha1.SchemeGroupVersion.Version, Served: true, Storage: true,
					Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
					Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
						Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
							"spec":   {Type: "object", XPreserveUnknownFields: ptr.To(true)},
							"status": {Type: "object", XPreserveUnknownFields: ptr.To(true)},
						},
					}},
				}},
			},
		})
	}
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{CRDs: definitions}); err != nil {
		t.Fatal(err)
	}
}

// createNode makes a ValkeyNode. It is sent as JSON: what stands in for our API server speaks nothing else.
func (c *cluster) createNode(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	node := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "ValkeyNode",
		"metadata": map[string]any{"namespace": "default", "name": name}, "spec": spec,
	}}
	if err := c.client.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
}

// controllerOptions are those of the installed controller, as its own ServiceAccount.
func (c *cluster) controllerOptions(t *testing.T) *app.Options {
	t.Helper()
	user, err := c.environment.AddUser(envtest.User{
		Name:   "system:serviceaccount:" + naming.SystemNamespace + ":valkey-controller",
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + naming.SystemNamespace},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	options := app.NewOptions()
	options.Kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(options.Kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	options.ClusterDNS = []string{"10.0.0.10"}
	options.MetricsAddress, options.HealthAddress = "0", freeAddress(t)
	if err := options.Validate(); err != nil {
		t.Fatal(err)
	}
	return options
}

// run runs the controller until the test ends, and returns what it ended with before.
func run(t *testing.T, options *app.Options) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		result <- app.Run(ctx, options)
	}()
	t.Cleanup(func() {
		cancel()
		<-stopped
	})
	return result
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func isHealthy(address string) error {
	for _, path := range []string{"/healthz", "/readyz"} {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(path + ": " + response.Status)
		}
	}
	return nil
}

// eventually waits until the check succeeds, and fails the test when the controller ends before.
func eventually(t *testing.T, ended <-chan error, what string, check func() error) {
	t.Helper()
	deadline := time.After(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case end := <-ended:
			t.Fatalf("the controller ended while waiting for %s: %v", what, end)
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
