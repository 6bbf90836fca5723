// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Scenario P4: a kube-apiserver that starts while our server is dead becomes ready, and serves everything else.
func TestP4KubeAPIServerStartsWithoutUs(t *testing.T) {
	c := startCluster(t)
	kube := c.environment.ControlPlane.GetAPIServer()
	if err := kube.Stop(); err != nil {
		t.Fatal(err)
	}
	// Start returns when it is ready.
	if err := kube.Start(); err != nil {
		t.Fatalf("it does not become ready: %v", err)
	}
	await(t, "other resources", func(ctx context.Context) error {
		return c.client.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "other-"}})
	})
	err := valkeyClient(t, c.admin).ValkeyV1alpha1().RESTClient().Get().Resource("valkeys").MaxRetries(0).Do(t.Context()).Error()
	if refusalCode(err) != http.StatusServiceUnavailable {
		t.Errorf("ours: %v", err)
	}
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
}

// Scenario P9: server-side apply by two managers.
func TestP9ServerSideApply(t *testing.T) {
	c := startCluster(t)
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
	manifest := func(spec string) string {
		return "{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: shared}, " + spec + "}"
	}
	for _, step := range []struct {
		input string
		args  []string
		want  string
		fails bool
	}{
		{manifest("spec: {replicas: 1, failover: {mode: Operator}}"), []string{"apply", "--server-side", "--field-manager=a", "-f", "-"}, "serverside-applied", false},
		{manifest("spec: {replicas: 2}"), []string{"apply", "--server-side", "--field-manager=b", "-f", "-"}, `conflict with "a": .spec.replicas`, true},
		{manifest("spec: {config: {maxmemory-policy: noeviction}}"), []string{"apply", "--server-side", "--field-manager=b", "-f", "-"}, "serverside-applied", false},
		{manifest("spec: {replicas: 2}"), []string{"apply", "--server-side", "--field-manager=b", "--force-conflicts", "--dry-run=server", "-f", "-"}, "(server dry run)", false},
		{"", []string{"get", "vk", "shared", "-o", "jsonpath={.spec.replicas}"}, "1", false},
		// The other manager took it over by what it no longer names: config goes.
		{manifest("spec: {replicas: 2}"), []string{"apply", "--server-side", "--field-manager=b", "--force-conflicts", "-f", "-"}, "serverside-applied", false},
		{"", []string{"get", "vk", "shared", "-o", "jsonpath={.spec.replicas}{.spec.config}"}, "2", false},
		{manifest("spec: {replicas: 1, failover: {mode: Operator}}"), []string{"apply", "--server-side", "--field-manager=a", "-f", "-"}, `conflict with "b": .spec.replicas`, true},
		{manifest("status: {state: Ready}"), []string{"apply", "--server-side", "--field-manager=c", "--subresource=status", "-f", "-"}, "serverside-applied", false},
		{"", []string{"get", "vk", "shared", "-o", "jsonpath={.status.state}/{.spec.replicas}/{.metadata.generation}"}, "Ready/2/3", false},
	} {
		output, err := c.kubectl(t, step.input, step.args...)
		if (err != nil) != step.fails || !strings.Contains(output, step.want) {
			t.Errorf("kubectl %s of %s: %v\n%s\nwant %q", strings.Join(step.args, " "), step.input, err, output, step.want)
		}
	}
}

// Scenario P11, of one server: a list in pieces, and pieces of a list that etcd has forgotten.
func TestP11ListsInPieces(t *testing.T) {
	c := startCluster(t)
	etcd := startEtcd(t, t.TempDir())
	stop := c.serve(t, "", etcd.Endpoint())
	c.awaitAPI(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default")
	for i := range 5 {
		if _, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("v-%d", i)}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for token := ""; ; {
		piece, err := api.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: token})
		if err != nil {
			t.Fatal(err)
		}
		if len(piece.Items) > 2 {
			t.Errorf("a piece of %d", len(piece.Items))
		}
		for i := range piece.Items {
			names = append(names, piece.Items[i].Name)
		}
		if token = piece.Continue; token == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "v-0 v-1 v-2 v-3 v-4" {
		t.Errorf("the pieces hold %s", got)
	}
	first, err := api.List(t.Context(), metav1.ListOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Patch(t.Context(), "v-4", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd.Endpoint()}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	now, err := client.Get(t.Context(), "none")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	// A server that held the old state in memory could still give the rest of the list; a new one cannot.
	stop()
	c.serve(t, "", etcd.Endpoint())
	c.awaitAPI(t)
	if rest, err := api.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: first.Continue}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a forgotten piece: %d items, %v", len(rest.Items), err)
	}
}

// The controller's requests go to a better level than everybody's.
func TestRequestsOfTheControllerAreQueuedApart(t *testing.T) {
	c := startCluster(t)
	c.serve(t, t.TempDir())
	c.awaitAPI(t)
	schema := &flowcontrolv1.FlowSchema{ObjectMeta: metav1.ObjectMeta{Name: "valkey-controller"}}
	if err := c.client.Get(t.Context(), clientKey(schema), schema); err != nil {
		t.Fatal(err)
	}
	user := "system:serviceaccount:" + naming.SystemNamespace + ":valkey-controller"
	client := c.direct(t, c.userConfig(t, user, "system:serviceaccounts", "system:authenticated"))
	await(t, "the flow schema", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+c.listener.Addr().String()+"/apis/valkey.io/v1alpha1/valkeys", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if got := answer.Header.Get("X-Kubernetes-PF-FlowSchema-UID"); got != string(schema.UID) {
			return fmt.Errorf("it was queued by %q, not by %q", got, schema.UID)
		}
		return nil
	})
}
