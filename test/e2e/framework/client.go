// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const clientManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: %s
spec:
  terminationGracePeriodSeconds: 1
  # While a machine is cut off, every second query of the cluster's DNS may go to a pod on it.
  dnsConfig: {options: [{name: ndots, value: "1"}, {name: timeout, value: "1"}, {name: attempts, value: "5"}]}
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: valkeykube/testclient:dev
    imagePullPolicy: IfNotPresent
    args: [idle]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`

// Client is a pod from which Valkey is spoken to, by a client library that is not the product's.
type Client struct {
	namespace, pod string
}

// Client starts a client pod in a namespace.
func (e *Env) Client(t *testing.T, namespace string) *Client {
	t.Helper()
	return e.client(t, namespace, "")
}

// ClientAwayFrom starts a client pod that is not on the named node.
func (e *Env) ClientAwayFrom(t *testing.T, namespace, node string) *Client {
	t.Helper()
	return e.client(t, namespace, fmt.Sprintf(`  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [%s]}]}]}}}
`, node))
}

func (e *Env) client(t *testing.T, namespace, placement string) *Client {
	t.Helper()
	c := &Client{namespace: namespace, pod: "client"}
	Apply(t, namespace, fmt.Sprintf(clientManifest, c.pod)+placement)
	Kubectl(t, "wait", "-n", namespace, "--for=condition=Ready", "pod/"+c.pod, "--timeout=90s")
	return c
}

// Do runs a command on a server and returns the answer, a line per element.
func (c *Client) Do(t *testing.T, addr string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-addr", addr, "--"}, command...)...)
}

// DoAs is Do as a user.
func (c *Client) DoAs(t *testing.T, addr, user, password string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-addr", addr, "-user", user, "-password", password, "--"}, command...)...)
}

// Must is Do that ends the test on an error.
func (c *Client) Must(t *testing.T, addr string, command ...string) string {
	t.Helper()
	out, err := c.Do(t, addr, command...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Find asks Sentinels for the primary of a monitor.
func (c *Client) Find(t *testing.T, sentinels []string, name string) (string, error) {
	t.Helper()
	return c.exec(t, "find", "-sentinels", strings.Join(sentinels, ","), "-name", name)
}

// ViaSentinel runs a command on the primary that the Sentinels name.
func (c *Client) ViaSentinel(t *testing.T, sentinels []string, name string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-sentinels", strings.Join(sentinels, ","), "-name", name, "--"}, command...)...)
}

func (c *Client) exec(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := TryKubectl(t, "", append([]string{"exec", "-n", c.namespace, c.pod, "--", "/testclient"}, args...)...)
	return strings.TrimSpace(out), err
}

// Ledger is a client that writes unique values and remembers which were acknowledged.
type Ledger struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stdout bytes.Buffer
	stderr *watched
}

// Summary is what became of the writes of a Ledger.
type Summary struct {
	Attempted, Acknowledged, Failed, ReadOnly, Lost int
	LostKeys, Errors                                []string
	MaxGapMillis                                    int64
}

// watched keeps what a process prints and says when the first write was acknowledged.
type watched struct {
	printed bytes.Buffer
	began   chan struct{}
	seen    bool
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.printed.Write(p)
	if !w.seen && strings.Contains(w.printed.String(), "first write acknowledged") {
		w.seen = true
		close(w.began)
	}
	return n, err
}

// Ledger begins to write by a route: "-addr", host:port or "-sentinels", list, "-name", monitor.
func (c *Client) Ledger(t *testing.T, prefix string, route ...string) *Ledger {
	t.Helper()
	args := append([]string{"exec", "-i", "-n", c.namespace, c.pod, "--", "/testclient", "ledger", "-prefix", prefix}, route...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
	t.Cleanup(cancel)
	l := &Ledger{cmd: exec.CommandContext(ctx, "kubectl", args...), stderr: &watched{began: make(chan struct{})}}
	stdin, err := l.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.stdin, l.cmd.Stdout, l.cmd.Stderr = stdin, &l.stdout, l.stderr
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.stderr.began:
	case <-time.After(30 * time.Second):
		t.Fatal("no write of the ledger was acknowledged within 30s")
	}
	return l
}

// Close ends the writing, reads every acknowledged write back, and returns what was found.
func (l *Ledger) Close(t *testing.T) Summary {
	t.Helper()
	_ = l.stdin.Close()
	if err := l.cmd.Wait(); err != nil {
		t.Fatalf("ledger: %v: %s", err, l.stderr.printed.String())
	}
	var s Summary
	if err := json.Unmarshal(l.stdout.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	t.Logf("ledger: %+v", s)
	if s.Acknowledged == 0 {
		t.Error("the ledger holds no acknowledged write: it shows nothing")
	}
	return s
}

// PodReady is whether a pod is ready.
func PodReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
