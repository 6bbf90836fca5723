// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

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
  dnsConfig: {options: [{name: ndots, value: "%d"}, {name: timeout, value: "1"}, {name: attempts, value: "5"}]}
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: valkeykube/%s:dev
    imagePullPolicy: IfNotPresent
    args: [idle]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: tmp, mountPath: /tmp}]
  volumes: [{name: tmp, emptyDir: {}}]
`

// Client is a pod from which Valkey is spoken to, by a client library that is not the product's.
type Client struct {
	namespace, pod string
	// dots are how many a name must have to be looked up as it is before the search list is gone through; 1 unless set.
	dots int
}

// Client starts a client pod in a namespace.
func (e *Env) Client(t *testing.T, namespace string) *Client {
	t.Helper()
	return e.client(t, &Client{namespace: namespace, pod: "client"}, "testclient", "")
}

// ClientWithDots is Client with another option ndots of its resolver.
func (e *Env) ClientWithDots(t *testing.T, namespace string, dots int) *Client {
	t.Helper()
	return e.client(t, &Client{namespace: namespace, pod: "client", dots: dots}, "testclient", "")
}

// Libraries starts a client pod that also has the programs of test/clients.
func (e *Env) Libraries(t *testing.T, namespace string) *Client {
	t.Helper()
	return e.client(t, &Client{namespace: namespace, pod: "client"}, "testclients", "")
}

// ClientAwayFrom starts a client pod that is not on the named node, beside that of Client.
func (e *Env) ClientAwayFrom(t *testing.T, namespace, node string) *Client {
	t.Helper()
	return e.client(t, &Client{namespace: namespace, pod: "client-away"}, "testclient", fmt.Sprintf(`  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [%s]}]}]}}}
`, node))
}

func (e *Env) client(t *testing.T, c *Client, image, placement string) *Client {
	t.Helper()
	Apply(t, c.namespace, fmt.Sprintf(clientManifest, c.pod, cmp.Or(c.dots, 1), image)+placement)
	Kubectl(t, "wait", "-n", c.namespace, "--for=condition=Ready", "pod/"+c.pod, "--timeout=90s")
	return c
}

// Do runs a command on a server and returns the answer, a line per element.
func (c *Client) Do(t *testing.T, addr string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-addr", addr, "--"}, command...)...)
}

// DoTrusting is Do by TLS, of a client that believes the authority (in PEM) and compares the name in the address with those in the certificate.
func (c *Client) DoTrusting(t *testing.T, addr string, authority []byte, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, slices.Concat([]string{"cli", "-addr", addr}, Trust(authority), []string{"--"}, command)...)
}

// DoAs is Do as a user.
func (c *Client) DoAs(t *testing.T, addr, user, password string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-addr", addr, "-user", user, "-password", password, "--"}, command...)...)
}

// Each runs commands as a user and returns what became of each: "ok", or the error.
func (c *Client) Each(t *testing.T, addr, user, password string, commands []string) []string {
	t.Helper()
	args := []string{"each", "-addr", addr, "-user", user, "-password", password, "--"}
	for i, command := range commands {
		if i > 0 {
			args = append(args, ";")
		}
		args = append(args, strings.Fields(command)...)
	}
	out, err := c.exec(t, args...)
	answers := strings.Split(out, "\n")
	if err != nil || len(answers) != len(commands) {
		t.Fatalf("%d answers to %d commands: %s, %v", len(answers), len(commands), out, err)
	}
	return answers
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

// Fill writes about 100 MB, 100 kB to each of the keys fill:1 to fill:1000.
func (c *Client) Fill(t *testing.T, addr string) {
	t.Helper()
	if _, err := c.TryFill(t, addr, 1000); err != nil {
		t.Fatal(err)
	}
}

// TryFill writes 100 kB to each of the keys from fill:1 on, and returns what happened.
func (c *Client) TryFill(t *testing.T, addr string, keys int) (string, error) {
	t.Helper()
	return c.exec(t, "fill", "-addr", addr, "-timeout", "20s", "-keys", strconv.Itoa(keys))
}

// Filled is how many of three of those keys a server holds.
func (c *Client) Filled(t *testing.T, addr string) string {
	t.Helper()
	return c.Must(t, addr, "EXISTS", "fill:1", "fill:500", "fill:1000")
}

// Get asks for a URL, as whoever scrapes metrics does, and returns the answer.
func (c *Client) Get(t *testing.T, url string) (string, error) {
	t.Helper()
	return c.exec(t, "get", url)
}

// KeptOut is an error unless the network lets no connection to the address come about. Another failure, such as a name that does not resolve,
// says nothing about that.
func (c *Client) KeptOut(t *testing.T, addr string) error {
	t.Helper()
	_, err := c.Get(t, "http://"+addr+"/")
	if err == nil {
		return fmt.Errorf("%s answers", addr)
	}
	text := err.Error()
	if strings.Contains(text, "dial tcp") && !strings.Contains(text, "lookup") && (strings.Contains(text, "connection refused") || strings.Contains(text, "i/o timeout")) {
		return nil
	}
	return fmt.Errorf("%s: a connection comes about, or something else fails: %w", addr, err)
}

// Label gives the client's pod a label; an empty value takes it away.
func (c *Client) Label(t *testing.T, key, value string) {
	t.Helper()
	change := key + "=" + value
	if value == "" {
		change = key + "-"
	}
	Kubectl(t, "label", "pod", c.pod, "-n", c.namespace, "--overwrite", change)
}

// Find asks Sentinels for the primary of a monitor.
func (c *Client) Find(t *testing.T, sentinels []string, name string) (string, error) {
	t.Helper()
	return c.exec(t, "find", "-sentinels", strings.Join(sentinels, ","), "-name", name)
}

// HoldsNoMonitor is an error unless the Sentinel answers, and says that it knows no monitor of the name.
func (c *Client) HoldsNoMonitor(t *testing.T, sentinel, name string) error {
	t.Helper()
	found, err := c.Find(t, []string{sentinel}, name)
	switch {
	case err == nil:
		return fmt.Errorf("%s says %s", sentinel, found)
	case !strings.Contains(err.Error(), "redis: nil"): // how the client prints the answer that there is none
		return err
	}
	return nil
}

// ViaSentinel runs a command on the primary that the Sentinels name.
func (c *Client) ViaSentinel(t *testing.T, sentinels []string, name string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-sentinels", strings.Join(sentinels, ","), "-name", name, "--"}, command...)...)
}

// Durably is ViaSentinel for a write, and waits until that is on the primary's disk: what is acknowledged may be in its memory alone for up to two
// seconds, while a sync of the file is under way (flushAppendOnlyFile in aof.c).
func (c *Client) Durably(t *testing.T, sentinels []string, name string, command ...string) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"cli", "-durable", "-timeout", "10s", "-sentinels", strings.Join(sentinels, ","), "-name", name, "--"}, command...)...)
}

// Serial is the serial number, in hexadecimal, of the certificate that is shown at an address to whoever believes the authority (in PEM).
func (c *Client) Serial(t *testing.T, addr string, authority []byte) (string, error) {
	t.Helper()
	return c.exec(t, append([]string{"serial", "-addr", addr}, Trust(authority)...)...)
}

// Trust are the flags of a client that speaks TLS, and believes the authority (in PEM).
func Trust(authority []byte) []string {
	return []string{"-ca", base64.StdEncoding.EncodeToString(authority)}
}

// Put writes a file into the client's pod, below /tmp.
func (c *Client) Put(t *testing.T, path, text string) {
	t.Helper()
	if out, err := c.exec(t, "put", path, text); err != nil {
		t.Fatalf("put %s: %v: %s", path, err, out)
	}
}

func (c *Client) exec(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := TryKubectl(t, "", append([]string{"exec", "-n", c.namespace, c.pod, "--", "/testclient"}, args...)...)
	return strings.TrimSpace(out), err
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
