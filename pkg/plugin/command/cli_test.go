// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/tunnel/tunneltest"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const passwordOfApp = "pw-of-the-app"

var accessOfApp = []string{"user default on >admin ~* &* +@all", "user app on >" + passwordOfApp + " ~* &* +@all -@admin"}

// startPod is a cluster with a Valkey "cache" of one node, whose pod is a real server with an agent beside it.
func startPod(t *testing.T, maySeeSecrets bool) (url string, server *valkeytest.Process) {
	t.Helper()
	server = valkeytest.StartServer(t, valkeytest.Options{
		Binary: valkeytest.Default(t), ACL: accessOfApp, Credentials: valkeyclient.Credentials{Password: "admin"},
	})
	secrets := map[string]map[string][]byte{}
	if maySeeSecrets {
		secrets["app"] = map[string][]byte{"pw": []byte(passwordOfApp)}
	}
	return serveCluster(t, server, valkeyWithApp(), secrets), server
}

func valkeyWithApp() v1alpha1.Valkey {
	valkey := cache().body.(v1alpha1.Valkey)
	valkey.Status.Primary = "cache-0"
	valkey.Spec.Users = []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app", Keys: []string{"pw"}}}}
	return valkey
}

// serveCluster is a cluster in which the caller may read the secrets, and no others.
func serveCluster(t *testing.T, server *valkeytest.Process, valkey v1alpha1.Valkey, secrets map[string]map[string][]byte) (url string) {
	t.Helper()
	bootz := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(probe.Report{Name: "cache-0", Phase: probe.PhaseRunning, Node: &probe.Node{Decision: probe.Decision{Action: "StartPrimary", Code: "Bootstrap", Reason: "it is the first"}}})
	}))
	t.Cleanup(bootz.Close)
	ports := map[string]string{
		fmt.Sprint(naming.PortValkey): server.Address.String(), fmt.Sprint(naming.PortAgent): bootz.Listener.Addr().String(),
	}
	pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: naming.NodePod("cache-0")}}}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := refusal(http.StatusForbidden, metav1.StatusReasonForbidden, "not you")
		secret, isSecret := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/ns/secrets/")
		switch path := r.URL.Path; {
		case strings.HasSuffix(path, "/portforward"):
			tunneltest.Serve(w, r, func(port string) (io.ReadWriteCloser, error) { return net.Dial("tcp", ports[port]) })
			return
		case strings.HasSuffix(path, "/valkeys/cache"):
			answer.code, answer.body = http.StatusOK, valkey
		case path == "/api/v1/namespaces/ns/pods":
			answer.code, answer.body = http.StatusOK, pods
		case isSecret && secrets[secret] != nil:
			answer.code, answer.body = http.StatusOK, corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Data: secrets[secret]}
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.code)
		_ = json.NewEncoder(w).Encode(answer.body)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func TestSessionsWithARealServer(t *testing.T) {
	url, server := startPod(t, true)
	for name, c := range map[string]struct {
		typed, line  string
		code         int
		want, stderr string
	}{
		"one command":        {"", "cli cache -- PING", ExitOK, "PONG\n", ""},
		"who is logged in":   {"", "cli cache --login app -- ACL WHOAMI", ExitOK, "app\n", ""},
		"for people":         {"", "cli cache --node 0 --formatted -- ACL WHOAMI", ExitOK, "\"app\"\n", ""},
		"lines":              {"SET k \"a b\"\nGET k\nQUIT\nGET k\n", "cli cache", ExitOK, "OK\na b\n", ""},
		"lines with a fault": {"NONSENSE\nGET k\n", "cli cache", ExitError, "ERR unknown command 'NONSENSE', with args beginning with: \n", ""},
		"not allowed":        {"", "cli cache -- CONFIG GET maxmemory", ExitError, "", ""},
		"another password":   {"not-this\n", "cli cache --ask-password -- PING", ExitError, "", "WRONGPASS"},
		"a typed password":   {"admin\n", "cli cache --login default --ask-password -- ACL WHOAMI", ExitOK, "default\n", ""},
		"a typed one, lines": {passwordOfApp + "\nPING\n", "cli cache --ask-password", ExitOK, "PONG\n", ""},
		"an unknown user":    {"", "cli cache --login who -- PING", ExitUsage, "", `no user "who"`},
		"a system user's":    {"", "cli cache --login _operator -- PING", ExitError, "", "no right to read the Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(t, t.Context(), url, c.typed, strings.Fields(c.line)...)
			if code != c.code || c.want != "" && stdout != c.want || !strings.Contains(stderr, c.stderr) || strings.Contains(stdout+stderr, passwordOfApp) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, stdout, stderr)
			}
		})
	}
	server.Kill()
	if code, _, stderr := run(t, t.Context(), url, "", "cli", "cache", "--", "PING"); code != ExitError || !strings.Contains(stderr, "refused") {
		t.Errorf("a server that is gone: exit code %d, %s", code, stderr)
	}
}

func TestWithoutTheRightToASecretNobodyIsLoggedIn(t *testing.T) {
	url, _ := startPod(t, false)
	code, stdout, stderr := run(t, t.Context(), url, "", "cli", "cache", "--", "PING")
	if code != ExitError || stdout != "" || !strings.Contains(stderr, "Secret app: no right to read the Secret") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestDescribeBoot(t *testing.T) {
	url, _ := startPod(t, false)
	code, stdout, stderr := run(t, t.Context(), url, "", "describe-boot", "cache")
	if code != ExitOK || !strings.Contains(stdout, "Pod valkey-cache-0-0  Running") || !strings.Contains(stdout, "StartPrimary by rule Bootstrap") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	var reports []struct{ Report probe.Report }
	if _, stdout, _ := run(t, t.Context(), url, "", "describe-boot", "cache", "-o", "json"); json.Unmarshal([]byte(stdout), &reports) != nil || len(reports) != 1 || reports[0].Report.Name != "cache-0" {
		t.Errorf("for programs: %s", stdout)
	}
}
