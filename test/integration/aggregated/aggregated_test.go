// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"encoding/base64"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
	valkeyv1alpha1 "github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/typed/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/storeidentity"
)

func rawPatch(text string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(text)) }

func encode(content []byte) string { return base64.StdEncoding.EncodeToString(content) }

// await waits for check to return nil.
func await(t *testing.T, what string, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func valkeyClient(t *testing.T, config *rest.Config) *versioned.Clientset {
	t.Helper()
	made, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c *cluster) awaitAPI(t *testing.T) {
	t.Helper()
	api := valkeyClient(t, c.admin)
	await(t, "the aggregated API", func(ctx context.Context) error {
		_, err := api.ValkeyV1alpha1().Valkeys("default").List(ctx, metav1.ListOptions{})
		return err
	})
	await(t, "readiness with the rights of the manifests", func(ctx context.Context) error {
		host := "https://" + c.listener.Addr().String()
		config := rest.CopyConfig(c.admin)
		config.Host, config.TLSClientConfig.CAData = host, nil
		config.Insecure = true
		body, err := valkeyClient(t, config).RESTClient().Get().AbsPath("/readyz").Param("verbose", "").DoRaw(ctx)
		if err != nil {
			return errors.New(err.Error() + "\n" + string(body))
		}
		return nil
	})
}

func TestBehindTheAggregator(t *testing.T) {
	c := startCluster(t)
	dataDir := filepath.Join(t.TempDir(), "data")
	stop := c.serve(t, dataDir)
	c.awaitAPI(t)
	printed := c.awaitDocuments(t)
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()

	t.Run("namespaces are those of the cluster", func(t *testing.T) {
		_, err := api.Valkeys("missing").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `namespaces "missing" not found`) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("users", c.testUsers)
	t.Run("kubectl", c.testKubectl)
	t.Run("snapshot", c.testSnapshot)
	t.Run("kube-apiserver does not ask for our documents again and again (P8)", func(t *testing.T) { c.askedAgain(t, printed) })
	t.Run("the store", func(t *testing.T) { c.testStore(t, dataDir, stop) })
}

// awaitDocuments waits until kube-apiserver's OpenAPI documents hold ours, and returns how much it has printed until then.
func (c *cluster) awaitDocuments(t *testing.T) (printed int) {
	t.Helper()
	for _, path := range []string{"/openapi/v2", "/openapi/v3"} {
		await(t, path+" holds our kinds", func(ctx context.Context) error {
			text, err := valkeyClient(t, c.admin).RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
			if err == nil && !strings.Contains(string(text), "apis/valkey.io/v1alpha1") {
				err = errors.New("it does not yet")
			}
			return err
		})
	}
	return len(c.log.String())
}

// askedAgain looks whether kube-apiserver had to ask for our OpenAPI documents again, which it says. That every API server of ours answers the
// same bytes is shown in the highly available installation (P14).
func (c *cluster) askedAgain(t *testing.T, printed int) {
	requeue := regexp.MustCompile(`(?i)requeue|loading openapi spec`)
	before, after := c.log.String()[:printed], c.log.String()[printed:]
	if !requeue.MatchString(before) {
		t.Error("kube-apiserver did not even say that it had to ask again before our API was there: this shows nothing")
	}
	for line := range strings.Lines(after) {
		if requeue.MatchString(line) && strings.Contains(line, naming.APIServiceName) {
			t.Errorf("kube-apiserver says: %s", line)
		}
	}
}

// testUsers asks as people who have the cluster's usual roles in a namespace.
func (c *cluster) testUsers(t *testing.T) {
	for _, role := range []string{"view", "edit"} {
		binding := &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role}},
		}
		if err := c.client.Create(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
	}
	clientOf := func(name string) *versioned.Clientset {
		config, err := clientcmd.BuildConfigFromFlags("", c.userKubeconfig(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return valkeyClient(t, config)
	}
	viewer, editor, nobody := clientOf("view").ValkeyV1alpha1(), clientOf("edit").ValkeyV1alpha1(), clientOf("nobody").ValkeyV1alpha1()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	// There is no controller manager that aggregates the roles, so what they would hold is granted here as the manifests say.
	c.aggregateRoles(t)
	await(t, "the editor's rights", func(ctx context.Context) error {
		_, err := editor.Valkeys("default").Create(ctx, valkey, metav1.CreateOptions{})
		return err
	})
	if _, err := viewer.Valkeys("default").Get(t.Context(), "shared", metav1.GetOptions{}); err != nil {
		t.Errorf("view reads: %v", err)
	}
	if _, err := viewer.Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("view creates: %v", err)
	}
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if _, err := viewer.Valkeys("default").Failover(t.Context(), "shared", &v1alpha1.Failover{}, dry); !apierrors.IsForbidden(err) {
		t.Errorf("view fails over: %v", err)
	}
	request := &v1alpha1.FailoverRequest{Spec: v1alpha1.FailoverRequestSpec{Valkey: "shared"}}
	if _, err := viewer.FailoverRequests("default").Create(t.Context(), request, dry); !apierrors.IsForbidden(err) {
		t.Errorf("view asks for a failover: %v", err)
	}
	// May, but cannot: nobody has made the passwords.
	replication := viewer.RESTClient().Get().Namespace("default").Resource("valkeys").Name("shared").SubResource("replication")
	if err := replication.MaxRetries(0).Do(t.Context()).Error(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("view looks at replication: %v", err)
	}
	if list, err := viewer.Monitors("default").List(t.Context(), metav1.ListOptions{}); err != nil || list.ResourceVersion == "" {
		t.Errorf("view lists monitors: %v", err)
	}
	if _, err := nobody.Monitors("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nobody lists monitors: %v", err)
	}
	snapshotOf := func(user valkeyv1alpha1.ValkeyV1alpha1Interface) error {
		return user.RESTClient().Get().Namespace("default").Resource("valkeys").Name("shared").SubResource("proxy").Suffix("snapshot").MaxRetries(0).Do(t.Context()).Error()
	}
	if err := snapshotOf(viewer); !apierrors.IsForbidden(err) {
		t.Errorf("view takes a snapshot: %v", err)
	}
	if err := snapshotOf(editor); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("edit takes a snapshot: %v", err)
	}
	if err := editor.RESTClient().Post().Namespace("default").Resource("failoverrequests").MaxRetries(0).Body(request).Do(t.Context()).Error(); !apierrors.IsConflict(err) {
		t.Errorf("edit asks for a failover: %v", err)
	}
	err := editor.RESTClient().Post().Namespace("default").Resource("valkeys").Name("shared").SubResource("failover").
		MaxRetries(0).Body(&v1alpha1.Failover{}).Do(t.Context()).Error()
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "nobody could take over") {
		t.Errorf("edit fails over: %v", err)
	}
	if _, err := editor.Valkeys("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("edit in another namespace: %v", err)
	}
	if _, err := nobody.Valkeys("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("nobody lists: %v", err)
	}
}

// aggregateRoles does what kube-controller-manager does for the roles view and edit.
func (c *cluster) aggregateRoles(t *testing.T) {
	t.Helper()
	for _, name := range []string{"view", "edit"} {
		var parts rbacv1.ClusterRoleList
		if err := c.client.List(t.Context(), &parts); err != nil {
			t.Fatal(err)
		}
		role := &rbacv1.ClusterRole{}
		role.Name = name
		for i := range parts.Items {
			if parts.Items[i].Name == name {
				role = parts.Items[i].DeepCopy()
			}
		}
		for i := range parts.Items {
			if parts.Items[i].Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "true" {
				role.Rules = append(role.Rules, parts.Items[i].Rules...)
			}
		}
		if err := c.client.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

// testStore starts the server on its store again, and then on an empty one.
func (c *cluster) testStore(t *testing.T, dataDir string, stop func()) {
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	if _, err := api.Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	stop = c.serve(t, dataDir)
	c.awaitAPI(t)
	if _, err := api.Valkeys("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	stop()

	c.serve(t, filepath.Join(t.TempDir(), "empty"))
	refusal := ""
	await(t, "the refusal of an empty store", func(ctx context.Context) error {
		err := api.RESTClient().Get().Namespace("default").Resource("valkeys").MaxRetries(0).Do(ctx).Error()
		if err == nil {
			t.Fatal("an empty store was served")
		}
		if apierrors.IsNotFound(err) && !strings.Contains(err.Error(), "could not find the requested resource") {
			t.Fatalf("an empty store answers: %v", err)
		}
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "the store is empty") {
			return err
		}
		refusal = err.Error()
		return nil
	})
	if !strings.Contains(refusal, storeidentity.AnnotationAccept) {
		t.Errorf("it does not say what to do: %s", refusal)
	}
	var record corev1.ConfigMap
	record.Namespace, record.Name = "valkey-system", storeidentity.ConfigMapName
	patch := `{"metadata":{"annotations":{"` + storeidentity.AnnotationAccept + `":"` + storeidentity.AcceptEmpty + `"}}}`
	if err := c.client.Patch(t.Context(), &record, rawPatch(patch)); err != nil {
		t.Fatal(err)
	}
	c.awaitAPI(t)
	if _, err := api.Valkeys("default").Get(t.Context(), "kept", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("in the accepted store: %v", err)
	}
}

// kubectl runs kubectl as the administrator and returns what it prints.
func (c *cluster) kubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	command := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", c.userKubeconfig(t, "root", "system:masters")}, args...)...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	command.Stdin = strings.NewReader(input)
	output, err := command.CombinedOutput()
	return string(output), err
}

func (c *cluster) testKubectl(t *testing.T) {
	manifest := `
apiVersion: valkey.io/v1alpha1
kind: Valkey
metadata: {name: typed}
spec: {replicas: 2, failover: {mode: Sentinel}, config: {port: "1"}}
`
	for _, step := range []struct {
		input string
		args  []string
		want  string
	}{
		{manifest, []string{"apply", "-f", "-"}, "valkey.valkey.io/typed created"},
		{manifest, []string{"apply", "-f", "-"}, "valkey.valkey.io/typed unchanged"},
		{manifest, []string{"apply", "--server-side", "-f", "-"}, "valkey.valkey.io/typed serverside-applied"},
		{"", []string{"get", "vk", "typed"}, "NAME    STATE   REASON   PRIMARY   READY   SYNCED   MONITORED-BY   AGE"},
		{"", []string{"get", "valkey-all"}, "valkey.valkey.io/typed"},
		{"", []string{"get", "valkey", "typed"}, "typed"},
		{"", []string{"get", "all"}, "valkey.valkey.io/typed"},
		{"", []string{"scale", "vk/typed", "--replicas=1"}, "valkey.valkey.io/typed scaled"},
		{"", []string{"get", "vk", "typed", "-o", "jsonpath={.spec.replicas}"}, "1"},
		{"", []string{"explain", "valkey.spec.failover.sentinel.monitorName"}, "the name under which Sentinel clients ask for the primary"},
		{"", []string{"patch", "vk", "typed", "--subresource=status", "--type=merge", "-p", `{"status":{"state":"Ready"}}`}, "patched"},
		{"", []string{"get", "vk", "--field-selector=status.state=Ready", "-o", "name"}, "valkey.valkey.io/typed"},
		{"", []string{"wait", "vk/typed", "--for=jsonpath={.status.state}=Ready", "--timeout=5s"}, "condition met"},
		{"", []string{"describe", "vk", "typed"}, "Kind:         Valkey"},
		{"", []string{"label", "vk", "typed", "a=b"}, "labeled"},
		{"", []string{"delete", "vk", "typed"}, "deleted"},
	} {
		output, err := c.kubectl(t, step.input, step.args...)
		if err != nil || !strings.Contains(output, step.want) {
			t.Errorf("kubectl %s: %v\n%s\nwant %q", strings.Join(step.args, " "), err, output, step.want)
		}
	}
	output, err := c.kubectl(t, "{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: bad}, spec: {replicas: -1}}", "apply", "-f", "-")
	if err == nil || !strings.Contains(output, "spec.replicas: Invalid value: -1: must be greater than or equal to 0") {
		t.Errorf("an invalid manifest: %v\n%s", err, output)
	}
	if output, err = c.kubectl(t, manifest, "apply", "--dry-run=server", "-f", "-"); err != nil || !strings.Contains(output, "Warning: spec.config[port]: ignored: the product decides where the server listens") {
		t.Errorf("a warning: %v\n%s", err, output)
	}
	path := "/apis/valkey.io/v1alpha1/namespaces/default/valkeys/missing/failover"
	if output, err = c.kubectl(t, "{}", "create", "--raw", path, "-f", "-"); err == nil || !strings.Contains(output, `valkeys.valkey.io "missing" not found`) {
		t.Errorf("a failover by hand: %v\n%s", err, output)
	}
}
