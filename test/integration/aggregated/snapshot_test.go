// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/snapshot"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// here is where the processes of the Valkey "big" are.
type here struct{ address string }

func (h *here) Node(_, node string) string {
	if h.address != "" && node == naming.NodeName("big", 0) {
		return h.address
	}
	return "127.0.0.1:1" // nobody listens there
}

func (h *here) Sentinel(string, string, int) string { return "127.0.0.1:1" }

const snapshotOfBig = "/apis/valkey.io/v1alpha1/namespaces/default/valkeys/big/proxy/snapshot"

// testSnapshot takes one through the aggregator: a whole one, and one that is cut off in the middle.
func (c *cluster) testSnapshot(t *testing.T) {
	const password = "pw-of-apiserver"
	user, _ := valkeyconf.NodeUser(naming.UserAPIServer, valkeyconf.HashPassword(password))
	line, err := user.Line()
	if err != nil {
		t.Fatal(err)
	}
	server := valkeytest.StartServer(t, valkeytest.Options{
		Binary: valkeytest.Default(t), ACL: []string{line, "user default on nopass ~* +@all"}, Config: []string{"rdbcompression no"},
	})
	server.Command("DEBUG", "POPULATE", "20000", "key", "300")
	c.addresses.address = server.Address.String()
	c.makeBig(t, password)

	config, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(c.admin.Host, "/")+snapshotOfBig, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := config.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v: %.300s", response.Status, err, content)
	}
	sum := sha256.Sum256(content)
	if got := response.Trailer.Get(snapshot.HeaderSHA256); got != hex.EncodeToString(sum[:]) {
		t.Errorf("the trailer's sum is %q, trailers %v", got, response.Trailer)
	}
	file := filepath.Join(t.TempDir(), "dump.rdb")
	if err := clientgo.Backup(t.Context(), valkeyClient(t, c.admin), "default", "big", file); err != nil {
		t.Fatal(err)
	}
	restored := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Config: []string{"dir " + filepath.Dir(file)}})
	if want, got := server.Command("DEBUG", "DIGEST"), restored.Command("DEBUG", "DIGEST"); want != got {
		t.Errorf("restored %s, want %s", got, want)
	}

	server.Command("CONFIG", "SET", "rdb-key-save-delay", "300")
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	command := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", c.userKubeconfig(t, "root", "system:masters"), "get", "--raw", snapshotOfBig)
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, 100<<10)); err != nil {
		t.Fatalf("%v: %s", err, &problems)
	}
	server.Kill()
	_, _ = io.Copy(io.Discard, output)
	if err := command.Wait(); err == nil {
		t.Error("kubectl took a part for the whole")
	} else {
		t.Logf("kubectl: %v: %s", err, &problems)
	}

	server.Start()
	server.Command("DEBUG", "POPULATE", "20000", "key", "300")
	server.Command("CONFIG", "SET", "rdb-key-save-delay", "300")
	typed, err := valkeyClient(t, c.admin).ValkeyV1alpha1().Valkeys("default").GetSnapshot(t.Context(), "big")
	if err != nil {
		t.Fatal(err)
	}
	defer typed.Close()
	if _, err := io.ReadFull(typed, make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := io.Copy(io.Discard, typed); err == nil {
		t.Error("the typed client took a part for the whole")
	}
}

// makeBig makes the objects of a Valkey of one node, as the controller would.
func (c *cluster) makeBig(t *testing.T, password string) {
	t.Helper()
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	if _, err := api.Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "big"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: naming.NodeName("big", 0)}}
	node.Spec.Valkey = "big"
	if _, err := api.ValkeyNodes("default").Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: naming.SystemPasswordsSecret("big")}
	for _, object := range []client.Object{
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{naming.UserAPIServer: []byte(password)}},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{meta.Name}, Verbs: []string{"get"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: naming.SystemNamespace, Name: naming.APIServerServiceAccount}},
		},
	} {
		if err := c.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}
