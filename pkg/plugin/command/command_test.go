// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// run carries out a command line at a server that answers as told; "" is none.
func run(t *testing.T, ctx context.Context, server, input string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "config")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u, namespace: ns}}],
		users: [{name: u, user: {}}], clusters: [{name: c, cluster: {server: "` + server + `"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errOut strings.Builder
	app := &App{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(input), Out: &out, ErrOut: &errOut},
		Getenv:    func(string) string { return "" },
		Now:       func() time.Time { return time.Unix(1000, 0) },
	}
	code = Run(ctx, app, append([]string{"--kubeconfig", kubeconfig, "--cache-dir", home}, args...))
	return code, out.String(), errOut.String()
}

type answer struct {
	code int
	body any
}

// serve answers by method and path.
func serve(t *testing.T, answers map[string]answer) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/apis/valkey.io/v1alpha1/namespaces/ns/")
		found, ok := answers[key]
		if !ok {
			found = refusal(http.StatusNotFound, metav1.StatusReasonNotFound, key+" not found")
		}
		w.Header().Set("Content-Type", "application/json")
		// What the library would take for an invitation to ask again and again.
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(found.code)
		_ = json.NewEncoder(w).Encode(found.body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func refusal(code int, reason metav1.StatusReason, message string) answer {
	return answer{code, metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code),
	}}
}

func typed(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: "valkey.io/v1alpha1", Kind: kind}
}

func answered(phase v1alpha1.OperationPhase) answer {
	return answer{http.StatusCreated, v1alpha1.Failover{TypeMeta: typed("Failover"), ObjectMeta: metav1.ObjectMeta{Name: "cache"}, Status: v1alpha1.FailoverRequestStatus{
		Phase: phase, OperationUID: "u", From: "cache-0", To: "cache-1", Message: "the reason",
	}}}
}

func cache() answer {
	return answer{http.StatusOK, v1alpha1.Valkey{TypeMeta: typed("Valkey"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache"}}}
}

func TestExitCodesOfAFailover(t *testing.T) {
	const path = "POST valkeys/cache/failover"
	for name, c := range map[string]struct {
		answer answer
		code   int
		want   string
	}{
		"done":              {answered(v1alpha1.OperationSucceeded), ExitOK, "failover of cache: Succeeded, cache-0 to cache-1"},
		"failed":            {answered(v1alpha1.OperationFailed), ExitError, "the reason"},
		"goes on":           {answered(v1alpha1.OperationInProgress), ExitRunning, "still running"},
		"refused for now":   {refusal(429, metav1.StatusReasonTooManyRequests, "no quorum"), ExitRefused, "no quorum"},
		"refused":           {refusal(409, metav1.StatusReasonConflict, "is the primary"), ExitRefused, "is the primary"},
		"nobody answers":    {refusal(503, metav1.StatusReasonServiceUnavailable, "no process answers"), ExitRefused, "no process answers"},
		"no right":          {refusal(403, metav1.StatusReasonForbidden, "not you"), ExitError, "not you"},
		"there is none":     {refusal(404, metav1.StatusReasonNotFound, "not found"), ExitError, "not found"},
		"a broken server":   {refusal(500, metav1.StatusReasonInternalError, "oh"), ExitError, "oh"},
		"an invalid target": {refusal(422, metav1.StatusReasonInvalid, "spec.to"), ExitError, "spec.to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, map[string]answer{path: c.answer, "GET valkeys/cache": cache()})
			code, stdout, stderr := run(t, t.Context(), server, "", "failover", "cache", "--wait", "10ms")
			if code != c.code || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, stdout, stderr)
			}
		})
	}
}

// A failover that goes on by itself is followed to its end.
func TestAFailoverIsFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		status v1alpha1.ValkeyStatus
		code   int
	}{
		"recorded by whoever made it": {v1alpha1.ValkeyStatus{Operation: &v1alpha1.OperationStatus{UID: "u", Phase: v1alpha1.OperationSucceeded, To: "cache-1"}}, ExitOK},
		"it failed":                   {v1alpha1.ValkeyStatus{Operation: &v1alpha1.OperationStatus{UID: "u", Phase: v1alpha1.OperationFailed}}, ExitError},
		"seen by the controller":      {v1alpha1.ValkeyStatus{LastFailover: &v1alpha1.FailoverRecord{From: "cache-0", To: "cache-1"}}, ExitOK},
		"somebody else's":             {v1alpha1.ValkeyStatus{Operation: &v1alpha1.OperationStatus{UID: "other", Phase: v1alpha1.OperationSucceeded}}, ExitRunning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			valkey := cache().body.(v1alpha1.Valkey)
			valkey.Status = c.status
			server := serve(t, map[string]answer{"POST valkeys/cache/failover": answered(v1alpha1.OperationInProgress), "GET valkeys/cache": {http.StatusOK, valkey}})
			if code, stdout, stderr := run(t, t.Context(), server, "", "failover", "cache", "--wait", "300ms"); code != c.code {
				t.Errorf("exit code %d, want %d\n%s\n%s", code, c.code, stdout, stderr)
			}
		})
	}
}

func TestCommandLinesThatMakeNoSense(t *testing.T) {
	for _, line := range []string{
		"stattus", "status a b", "status --bogus", "status -o xml", "status a -w -o json", "status a --interval 0s -w", "failover", "failover a b",
		"failover a --timeout 31s", "failover a --timeout 0s", "monitors a b", "monitors -o nonsense", "monitors -w -o wide", "replication", "replication a -w -o json",
		"snapshot", "cli", "cli a PING", "cli -- PING", "cli a --raw --formatted", "cli a --ca x --cert y", "cli a --cert x --key y", "credentials", "connect", "connect a --client jedis", "connect a --via magic",
		"connect a --client redis-py -o json", "describe-boot", "describe-boot a --pod b", "describe-boot --node 1 --pod b", "support-bundle a", "support-bundle --log-lines 0", "version a",
	} {
		code, stdout, stderr := run(t, t.Context(), "http://127.0.0.1:1", "", strings.Fields(line)...)
		if code != ExitUsage || stdout != "" || !strings.Contains(stderr, "error: ") || !strings.Contains(stderr, "--help'") {
			t.Errorf("%s: exit code %d\n%s\n%s", line, code, stdout, stderr)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	silent := refusal(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "no member of the Valkey answers")
	valkey := cache()
	server := serve(t, map[string]answer{"GET valkeys/cache": valkey, "GET valkeys/cache/replication": silent, "GET monitors": silent, "GET valkeys/cache/proxy/snapshot": silent})
	began := time.Now()
	for _, line := range []string{"replication cache", "monitors", "snapshot cache -o " + filepath.Join(t.TempDir(), "x")} {
		if code, _, stderr := run(t, t.Context(), server, "", strings.Fields(line)...); code != ExitRefused || !strings.Contains(stderr, "no member of the Valkey answers") {
			t.Errorf("%s: exit code %d, %s", line, code, stderr)
		}
	}
	// The screen still shows what is known.
	code, stdout, stderr := run(t, t.Context(), server, "", "status", "cache")
	if code != ExitOK || !strings.Contains(stdout, "Valkey ns/cache") || !strings.Contains(stdout, "replication: no member of the Valkey answers") || !strings.Contains(stdout, "pods: ") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it asked again and again, for %s", took)
	}
}

func TestStatusForPrograms(t *testing.T) {
	server := serve(t, map[string]answer{
		"GET valkeys/cache":             cache(),
		"GET valkeys/cache/replication": {http.StatusOK, v1alpha1.Replication{TypeMeta: typed("Replication"), Primary: "cache-0", Members: []v1alpha1.ReplicationMember{{Node: "cache-0", Role: v1alpha1.RolePrimary}}}},
	})
	code, stdout, stderr := run(t, t.Context(), server, "", "status", "cache", "-o", "json")
	var seen struct {
		Valkey      v1alpha1.Valkey
		Replication v1alpha1.Replication
	}
	if err := json.Unmarshal([]byte(stdout), &seen); err != nil || code != ExitOK {
		t.Fatalf("exit code %d, %v: %s %s", code, err, stdout, stderr)
	}
	if seen.Valkey.Kind != "Valkey" || seen.Valkey.Name != "cache" || seen.Replication.Primary != "cache-0" {
		t.Errorf("got %+v", seen)
	}
	if _, stdout, _ := run(t, t.Context(), server, "", "status", "cache", "-o", "yaml"); !strings.Contains(stdout, "\n  primary: cache-0\n") {
		t.Errorf("got %s", stdout)
	}
}

func TestConnectHidesThePassword(t *testing.T) {
	valkey := cache().body.(v1alpha1.Valkey)
	valkey.Spec.Users = []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app", Keys: []string{"pw"}}}}
	secret := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "app"}, "data": map[string]any{"pw": "aHVudGVyMg=="}}
	server := serve(t, map[string]answer{"GET valkeys/cache": {http.StatusOK, valkey}, "GET /api/v1/namespaces/ns/secrets/app": {http.StatusOK, secret}})
	for line, shown := range map[string]bool{
		"connect cache": false, "connect cache --client all": false, "connect cache -o yaml": false, "credentials cache": false,
		"connect cache --show-password": true, "connect cache --client redis-py --show-password": true, "credentials cache --show-passwords": true,
	} {
		code, stdout, stderr := run(t, t.Context(), server, "", strings.Fields(line)...)
		if code != ExitOK || strings.Contains(stdout+stderr, "hunter2") != shown || !strings.Contains(stdout, "app") {
			t.Errorf("%s: exit code %d\n%s\n%s", line, code, stdout, stderr)
		}
	}
	if code, _, stderr := run(t, t.Context(), server, "", "connect", "cache", "--client", "valkey-glide", "--via", "sentinel"); code != ExitUsage || !strings.Contains(stderr, "cannot ask Sentinels") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// The first failure of a watch is one; what comes later is shown, and it ends with its caller.
func TestRepeating(t *testing.T) {
	var out strings.Builder
	app := &App{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}, Getenv: os.Getenv, Now: func() time.Time { return time.Unix(0, 0) }}
	if err := app.repeat(t.Context(), time.Millisecond, func(context.Context, io.Writer) error { return io.ErrUnexpectedEOF }); err == nil {
		t.Error("nothing was ever shown")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turn := 0
	err := app.repeat(ctx, time.Millisecond, func(_ context.Context, w io.Writer) error {
		turn++
		switch turn {
		case 3:
			return io.ErrUnexpectedEOF
		case 5:
			cancel()
		}
		_, err := io.WriteString(w, "as it is\n")
		return err
	})
	if want := "--- 1970-01-01T00:00:00Z\nas it is\n--- 1970-01-01T00:00:00Z\nerror: unexpected EOF\n--- 1970-01-01T00:00:00Z\nas it is\n"; err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, &out)
	}
}

func TestCompletion(t *testing.T) {
	list := v1alpha1.ValkeyList{TypeMeta: typed("ValkeyList"), Items: []v1alpha1.Valkey{{ObjectMeta: metav1.ObjectMeta{Name: "cache"}}, {ObjectMeta: metav1.ObjectMeta{Name: "sessions"}}}}
	server := serve(t, map[string]answer{"GET valkeys": {http.StatusOK, list}})
	for line, want := range map[string]string{
		"__complete status ":                      "cache\nsessions\n:4\n",
		"__complete connect cache --via ":         "sentinel\nservice\n:4\n",
		"__complete monitors --output ":           "table\nwide\njson\nyaml\n:4\n",
		"__complete status cache ":                ":4\n",
		"__complete --context ":                   "c\n:4\n",
		"__complete failover --dry-run=false no ": ":4\n",
	} {
		words := strings.Split(line, " ")
		// As the shell's script does: the hidden command comes first, and the flags are the person's.
		home := t.TempDir()
		kubeconfig := filepath.Join(home, "config")
		text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, namespace: ns}}], clusters: [{name: c, cluster: {server: "` + server + `"}}]}`
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		app := &App{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: io.Discard}, Getenv: os.Getenv, Now: time.Now}
		args := append([]string{words[0], "--kubeconfig", kubeconfig, "--cache-dir", home}, words[1:]...)
		if code := Run(t.Context(), app, args); code != ExitOK || out.String() != want {
			t.Errorf("%s: exit code %d, %q", line, code, &out)
		}
	}
}
