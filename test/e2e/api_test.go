//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// What the API promises, on one Valkey with the longest name there can be (L12), whose members have volumes.
func TestAPI(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "api")
	s := e.Start(t, ns, framework.Options{Name: strings.Repeat("n", naming.MaxValkeyName), Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	for _, step := range []struct {
		name string
		run  func(*testing.T, *framework.Set)
	}{
		{"names that leave no room are refused (L12)", longNames},
		{"a smaller volume is refused (J2)", smallerVolume},
		{"names of children that clash are refused", clashingNames},
		{"a FailoverRequest is answered", failoverRequest},
		{"replication is live", replicationIsLive},
		{"a watch of monitors follows a failover", monitorsAreWatched},
		{"a snapshot", snapshotOfADataset},
		{"forged headers are nobody's (P6)", forgedHeaders},
		{"explain (P8)", explained},
		{"server-side apply (P9)", serverSideApply},
		{"policies and namespaces that end (P10)", admission},
		{"a ResourceQuota holds", quotaHolds},
		{"view and edit (P13)", viewAndEdit},
	} {
		t.Run(step.name, func(t *testing.T) {
			s.WaitReady(t, time.Minute)
			step.run(t, s)
		})
	}
}

// refused runs kubectl and wants it to fail with these words.
func refused(t *testing.T, input string, args []string, words ...string) {
	t.Helper()
	out, err := framework.TryKubectl(t, input, args...)
	if err == nil {
		t.Errorf("kubectl %s did it: %s", strings.Join(args, " "), out)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is missing in: %v", word, err)
		}
	}
}

func longNames(t *testing.T, s *framework.Set) {
	manifest := framework.Options{Name: s.Name + "x", Mode: v1alpha1.FailoverModeNone}.Manifest()
	refused(t, manifest, []string{"create", "-n", s.Namespace, "-f", "-"}, "metadata.name", fmt.Sprintf("no more than %d characters", len(s.Name)))
}

func smallerVolume(t *testing.T, s *framework.Set) {
	patch := []string{"patch", "valkey", s.Name, "-n", s.Namespace, "--type=merge", "-p", `{"spec":{"persistence":{"size":"32Mi"}}}`}
	refused(t, "", patch, "spec.persistence.size", "may not shrink, it is 64Mi now")
}

func clashingNames(t *testing.T, s *framework.Set) {
	manifest := func(name string) string {
		return fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: %s}, spec: {}}", name)
	}
	create := []string{"create", "-n", s.Namespace, "-f", "-", "--dry-run=server"}
	refused(t, manifest("sentinel-"+s.Sentinel), create, "metadata.name", "which ValkeySentinel "+s.Sentinel+" has")
	if _, err := framework.TryKubectl(t, manifest("sentinel"), create...); err != nil {
		t.Error(err)
	}
}

func failoverRequest(t *testing.T, s *framework.Set) {
	from, to := s.Primary(t), s.Replica(t)
	manifest := fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: FailoverRequest, metadata: {name: move}, spec: {valkey: %s, to: %s}}", s.Name, to)
	out, err := framework.TryKubectl(t, manifest, "create", "-n", s.Namespace, "-f", "-", "-o", "jsonpath={.status.phase} {.status.from} {.status.to} {.status.coordinated}")
	if want := fmt.Sprintf("Succeeded %s %s true", from, to); err != nil || out != want {
		t.Fatalf("%q, want %q: %v", out, want, err)
	}
	s.WaitPrimary(t, s.Address(to), time.Minute)
	refused(t, manifest, []string{"create", "-n", s.Namespace, "-f", "-"}, "Conflict", to)
}

func replicationIsLive(t *testing.T, s *framework.Set) {
	table := framework.Kubectl(t, "get", "valkey", s.Name, "-n", s.Namespace, "--subresource=replication")
	for node, role := range map[string]string{s.Primary(t): "primary", s.Replica(t): "replica"} {
		if !regexp.MustCompile(regexp.QuoteMeta(node) + ` +` + role).MatchString(table) {
			t.Errorf("%s is no %s in:\n%s", node, role, table)
		}
	}
	answer, err := s.Env.Valkey.ValkeyV1alpha1().Valkeys(s.Namespace).GetReplication(t.Context(), s.Name, metav1.GetOptions{})
	if err != nil || answer.Primary != s.Primary(t) || len(answer.Members) != 2 || len(answer.Monitors) != s.Sentinels {
		t.Errorf("%+v: %v", answer, err)
	}
}

func monitorsAreWatched(t *testing.T, s *framework.Set) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	watching := exec.CommandContext(ctx, "kubectl", "get", "monitors", "-n", s.Namespace, "-w", "--no-headers")
	output, err := watching.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watching.Start(); err != nil {
		t.Fatal(err)
	}
	rows := bufio.NewScanner(output)
	rows.Scan()
	before := rows.Text()
	if !strings.Contains(before, s.Sentinel+"."+s.Name) || !strings.Contains(before, s.Address(s.Primary(t))) {
		t.Fatalf("first row %q", before)
	}
	status := s.Failover(t, v1alpha1.FailoverRequestSpec{To: s.Replica(t)})
	for rows.Scan() {
		if rows.Text() == before {
			t.Errorf("printed again: %s", before)
		}
		if before = rows.Text(); strings.Contains(before, s.Address(status.To)) {
			break
		}
	}
	if !strings.Contains(before, s.Address(status.To)) {
		t.Errorf("the last row is %q", before)
	}
	cancel()
	_ = watching.Wait()
	s.WaitPrimary(t, s.Address(status.To), time.Minute)
}

func snapshotOfADataset(t *testing.T, s *framework.Set) {
	c := s.Env.Client(t, s.Namespace)
	if _, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "SET", "kept-in-the-snapshot", "1"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "dump.rdb")
	if err := clientgo.Backup(t.Context(), s.Env.Valkey, s.Namespace, s.Name, file); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(content, []byte("kept-in-the-snapshot")) {
		t.Errorf("%d bytes, without the key: %v", len(content), err)
	}
}

// forgedHeaders asks our server itself, through a proxy that passes headers on and no identity.
func forgedHeaders(t *testing.T, s *framework.Set) {
	client, err := rest.HTTPClientFor(s.Env.Config)
	if err != nil {
		t.Fatal(err)
	}
	path := "/api/v1/namespaces/valkey-system/services/https:valkey-apiserver:443/proxy/apis/valkey.io/v1alpha1/valkeys"
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Env.Config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Remote-User", "root")
	request.Header.Set("X-Remote-Group", "system:masters")
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("%s: %s: %v", answer.Status, body, err)
	}
}

func explained(t *testing.T, _ *framework.Set) {
	out := framework.Kubectl(t, "explain", "valkey.spec.persistence", "--recursive")
	for _, field := range []string{"size\t<Quantity>", "storageClassName\t<string>", "reclaimPolicy\t<string>", "mode\t<string>"} {
		if !strings.Contains(out, field) {
			t.Errorf("%q is missing in:\n%s", field, out)
		}
	}
}

func serverSideApply(t *testing.T, s *framework.Set) {
	manifest := fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: %s}, spec: {replicas: 2}}", s.Name)
	apply := []string{"apply", "-n", s.Namespace, "--server-side", "--dry-run=server", "--field-manager=somebody", "-f", "-"}
	refused(t, manifest, apply, "conflict", ".spec.replicas")
	if out, err := framework.TryKubectl(t, manifest, append(apply, "--force-conflicts", "-o", "jsonpath={.spec.replicas}")...); err != nil || out != "2" {
		t.Errorf("%q: %v", out, err)
	}
	if replicas := s.Get(t).Spec.Replicas; replicas != 1 {
		t.Errorf("a dry run left %d replicas", replicas)
	}
}

func admission(t *testing.T, s *framework.Set) {
	ctx, kube := t.Context(), s.Env.Kube.CoreV1()
	policy := fmt.Sprintf(`
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: %[1]s}, spec: {
  matchConstraints: {resourceRules: [{apiGroups: [valkey.io], apiVersions: ["*"], operations: [CREATE], resources: [valkeys]}]},
  validations: [{expression: "object.spec.replicas < 5", message: "no more than four here"}]}}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: %[1]s}, spec: {
  policyName: %[1]s, validationActions: [Deny], matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}}}
`, s.Namespace)
	framework.Apply(t, "", policy)
	t.Cleanup(func() {
		framework.Kubectl(t, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", s.Namespace)
	})
	many := framework.Options{Name: "many", Replicas: 5, Mode: v1alpha1.FailoverModeOperator}.Manifest()
	framework.Eventually(t, 30*time.Second, "the policy holds", func() error {
		out, err := framework.TryKubectl(t, many, "create", "-n", s.Namespace, "--dry-run=server", "-f", "-")
		if err == nil {
			return errors.New(out)
		}
		if !strings.Contains(err.Error(), "no more than four here") {
			return err
		}
		return nil
	})

	ending, err := kube.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "ending-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Finalizers: []string{"example.com/kept"}}}
	if _, err := kube.ConfigMaps(ending.Name).Create(ctx, kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := kube.Namespaces().Delete(ctx, ending.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	refused(t, many, []string{"create", "-n", ending.Name, "-f", "-"}, "Forbidden", "because it is being terminated")
	framework.Kubectl(t, "patch", "configmap", "kept", "-n", ending.Name, "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
}

// quotaHolds with the cluster's own controller counting what there is: the one Valkey of this namespace.
func quotaHolds(t *testing.T, s *framework.Set) {
	framework.Kubectl(t, "create", "quota", "few", "-n", s.Namespace, "--hard=count/valkeys.valkey.io=1")
	t.Cleanup(func() { framework.Kubectl(t, "delete", "quota", "few", "-n", s.Namespace) })
	const another = "{apiVersion: valkey.io/v1alpha1, kind: Valkey, metadata: {name: another}, spec: {}}"
	framework.Eventually(t, time.Minute, "the quota holds", func() error {
		out, err := framework.TryKubectl(t, another, "create", "-n", s.Namespace, "--dry-run=server", "-f", "-")
		if err == nil {
			return errors.New(out)
		}
		if !strings.Contains(err.Error(), "exceeded quota: few, requested: count/valkeys.valkey.io=1, used: count/valkeys.valkey.io=1") {
			return err
		}
		return nil
	})
}

func viewAndEdit(t *testing.T, s *framework.Set) {
	for _, role := range []string{"view", "edit"} {
		framework.Kubectl(t, "create", "rolebinding", role, "-n", s.Namespace, "--clusterrole="+role, "--user="+role)
	}
	as := func(user string, args ...string) []string {
		return append([]string{"--as=" + user, "-n", s.Namespace}, args...)
	}
	framework.Eventually(t, 30*time.Second, "the rights are there", func() error {
		_, err := framework.TryKubectl(t, "", as("edit", "get", "valkeys")...)
		return err
	})
	failover := fmt.Sprintf("/apis/valkey.io/v1alpha1/namespaces/%s/valkeys/%s/failover?dryRun=All", s.Namespace, s.Name)
	for _, user := range []string{"view", "edit"} {
		framework.Kubectl(t, as(user, "get", "monitors")...)
		framework.Kubectl(t, as(user, "get", "valkey", s.Name, "--subresource=replication")...)
	}
	refused(t, "", as("view", "scale", "valkey", s.Name, "--replicas=2"), "Forbidden")
	refused(t, "{}", as("view", "create", "--raw", failover, "-f", "-"), "Forbidden")
	framework.Kubectl(t, as("edit", "scale", "valkey", s.Name, "--replicas=1")...)
	if out, err := framework.TryKubectl(t, "{}", as("edit", "create", "--raw", failover, "-f", "-")...); err != nil || !strings.Contains(out, "Pending") {
		t.Errorf("%s: %v", out, err)
	}
	// kubectl would ask for CustomResourceDefinitions first, as for every kind that can only be created, and users may not list those.
	manifest := fmt.Sprintf("{apiVersion: valkey.io/v1alpha1, kind: FailoverRequest, metadata: {name: move}, spec: {valkey: %s}}", s.Name)
	request := []string{"create", "--validate=false", "--dry-run=server", "-f", "-", "-o", "jsonpath={.status.phase}"}
	refused(t, manifest, as("view", request...), "Forbidden")
	if out, err := framework.TryKubectl(t, manifest, as("edit", request...)...); err != nil || out != "Pending" {
		t.Errorf("%q: %v", out, err)
	}
	refused(t, strings.Replace(manifest, "valkey: ", "valky: ", 1), as("edit", request...), "unknown field")
	refused(t, "", as("nobody", "get", "valkeys"), "Forbidden")
}
