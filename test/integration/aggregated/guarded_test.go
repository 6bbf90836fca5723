// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const everything = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{group: valkey.io}]}]\n"

// direct is a client of our server itself, around the aggregator.
func (c *cluster) direct(t *testing.T, config *rest.Config) *http.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.TLSClientConfig.CAData, config.TLSClientConfig.CAFile, config.Insecure = nil, "", true
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (c *cluster) userConfig(t *testing.T, name string, groups ...string) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.userKubeconfig(t, name, groups...))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// ask returns the code of an answer of our server to a request with headers, name and value in turn.
func (c *cluster) ask(t *testing.T, client *http.Client, path string, headers ...string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+c.listener.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Scenario P6: who calls the Service itself is nobody but himself.
func TestP6ForgedHeadersAndGuardedPaths(t *testing.T) {
	c := startCluster(t)
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
	// The manifests let nobody read these but cluster administrators; here somebody is allowed to.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "scrape"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/metrics"}}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scrape"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "scrape"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "scraper"}},
	}
	if err := errors.Join(c.client.Create(t.Context(), role), c.client.Create(t.Context(), binding)); err != nil {
		t.Fatal(err)
	}
	stranger := c.direct(t, &rest.Config{Host: c.admin.Host})
	nobody := c.direct(t, c.userConfig(t, "nobody"))
	scraper := c.direct(t, c.userConfig(t, "scraper"))
	admin := c.direct(t, c.userConfig(t, "root", "system:masters"))
	forged := []string{"X-Remote-User", "root", "X-Remote-Group", "system:masters"}
	valkeys := "/apis/valkey.io/v1alpha1/valkeys"
	for _, question := range []struct {
		who     string
		client  *http.Client
		path    string
		headers []string
		want    int
	}{
		{"a stranger", stranger, valkeys, nil, http.StatusForbidden},
		{"a stranger with forged headers", stranger, valkeys, forged, http.StatusForbidden},
		{"a user with forged headers", nobody, valkeys, forged, http.StatusForbidden},
		{"a forged token", stranger, valkeys, []string{"Authorization", "Bearer forged"}, http.StatusUnauthorized},
		{"an administrator", admin, valkeys, nil, http.StatusOK},
		{"a stranger", stranger, "/metrics", nil, http.StatusForbidden},
		{"a user", nobody, "/metrics", nil, http.StatusForbidden},
		{"a scraper", scraper, "/metrics", nil, http.StatusOK},
		{"a stranger", stranger, "/debug/pprof/", nil, http.StatusForbidden},
		{"a scraper", scraper, "/debug/pprof/goroutine", nil, http.StatusForbidden},
		{"an administrator", admin, "/debug/pprof/goroutine", nil, http.StatusOK},
		{"a stranger", stranger, "/readyz", nil, http.StatusOK},
		{"a stranger", stranger, "/configz", nil, http.StatusForbidden},
	} {
		if got := c.ask(t, question.client, question.path, question.headers...); got != question.want {
			t.Errorf("%s gets %d from %s, want %d", question.who, got, question.path, question.want)
		}
	}
}

// Scenario P5: without the right to read how the aggregator is recognised, the log says so, nobody is taken for a stranger, and the right is enough.
func TestP5WithoutTheRightInKubeSystem(t *testing.T) {
	c := startCluster(t)
	binding := &rbacv1.RoleBinding{}
	binding.Namespace, binding.Name = "kube-system", "valkey-apiserver-authentication-reader"
	if err := c.client.Get(t.Context(), clientKey(binding), binding); err != nil {
		t.Fatal(err)
	}
	if err := c.client.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	p := c.start(t, t.TempDir())
	await(t, "a clear message", func(context.Context) error {
		if log := p.output(); !strings.Contains(log, `configmaps \"extension-apiserver-authentication\" is forbidden`) {
			return errors.New(log)
		}
		return nil
	})
	err := valkeyClient(t, c.admin).ValkeyV1alpha1().RESTClient().Get().Resource("valkeys").MaxRetries(0).Do(t.Context()).Error()
	if err == nil || refusalCode(err) != http.StatusServiceUnavailable {
		t.Errorf("clients are told %v", err)
	}
	binding.ResourceVersion, binding.UID = "", ""
	if err := c.client.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	c.awaitAPI(t)
}

// Scenario P5: nothing depends on the name of the namespace.
func TestP5InAnotherNamespace(t *testing.T) {
	c := startClusterIn(t, "databases")
	c.start(t, t.TempDir())
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	if _, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	usual := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: naming.SystemNamespace}}
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(usual), usual); !apierrors.IsNotFound(err) {
		t.Errorf("the usual namespace is there: %v", err)
	}
}

// What is asked and by whom is in the audit log, and what takes how long is traced, where an administrator wants it.
func TestAuditAndTracing(t *testing.T) {
	c := startCluster(t)
	directory := t.TempDir()
	policy, log, tracing := filepath.Join(directory, "policy"), filepath.Join(directory, "audit"), filepath.Join(directory, "tracing")
	collector, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = collector.Close() })
	exported := make(chan string, 1)
	go func() {
		connection, err := collector.Accept()
		if err != nil {
			return
		}
		defer func() { _ = connection.Close() }()
		greeting := make([]byte, 14)
		_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
		_, _ = connection.Read(greeting)
		exported <- string(greeting)
	}()
	config := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", collector.Addr())
	if err := errors.Join(os.WriteFile(policy, []byte(everything), 0o600), os.WriteFile(tracing, []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	c.start(t, t.TempDir(), "--audit-policy-file="+policy, "--audit-log-path="+log, "--tracing-config-file="+tracing)
	c.awaitAPI(t)
	auditor := valkeyClient(t, c.userConfig(t, "auditor", "system:masters")).ValkeyV1alpha1().Valkeys("default")
	if _, err := auditor.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "seen"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the audit log", func(context.Context) error {
		content, err := os.ReadFile(log)
		for line := range strings.Lines(string(content)) {
			if strings.Contains(line, `"verb":"create"`) && strings.Contains(line, `"username":"auditor"`) && strings.Contains(line, `"name":"seen"`) {
				return nil
			}
		}
		return errors.Join(errors.New("no line about it"), err)
	})
	select {
	case greeting := <-exported:
		if greeting != "PRI * HTTP/2.0" {
			t.Errorf("the collector was sent %q", greeting)
		}
	case <-time.After(time.Minute):
		t.Error("nothing was sent to the collector")
	}
}

func refusalCode(err error) int {
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return int(status.ErrStatus.Code)
	}
	return 0
}
