//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// besideManifest is a client on the primary's machine, which writes to that server whatever becomes of the network, and in the end reads back
// what was acknowledged.
const besideManifest = `
apiVersion: v1
kind: Pod
metadata:
  name: beside
spec:
  nodeName: %s
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: client
    image: valkeykube/testclient:dev
    imagePullPolicy: IfNotPresent
    stdin: true
    args: [ledger, -addr, %q, -prefix, beside, -for, %s, -verify, 2m]
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`

const (
	// besideFor is how long the client writes: until long after the old primary is back, and a replica.
	besideFor = 100 * time.Second
	cutFor    = 40 * time.Second
)

// E2: primaries in both modes are cut off from everything but one client each. They stop taking those clients' writes, and are not in the write
// Services.
func TestCutOffPrimaryStopsTakingWrites(t *testing.T) {
	e := framework.Connect(t)
	// The bounds are those of ADR 16, with room for a busy machine.
	all := []*cutOff{
		{mode: v1alpha1.FailoverModeSentinel, bound: 8 * time.Second},
		{mode: v1alpha1.FailoverModeOperator, bound: 10 * time.Second},
	}
	machine := ""
	for _, c := range all {
		c.set = e.Start(t, e.Namespace(t, "fence"), framework.Options{Name: "main", Replicas: 2, Mode: c.mode, Extra: apart})
		c.set.MovePrimary(t, e.Client(t, c.set.Namespace), func(candidate string) bool {
			return candidate == machine || machine == "" && !slices.Contains(e.NodesOfOurs(t), candidate)
		})
		c.set.WaitReady(t, time.Minute)
		var err error
		if c.old, err = c.set.Pod(t, c.set.Primary(t)); err != nil {
			t.Fatal(err)
		}
		machine = c.old.Spec.NodeName
	}
	e.WaitWhole(t)
	for _, c := range all {
		c.writeBeside(t)
	}
	heal := framework.Cut(t, machine)
	cut := time.Now()
	for _, c := range all {
		framework.Eventually(t, switchPatience, string(c.mode)+": the write Service leads to another node", func() error {
			pods, err := readyEndpoints(t.Context(), c.set)
			if err == nil && (len(pods) != 1 || pods[0] == c.old.Name) {
				err = fmt.Errorf("it leads to %v", pods)
			}
			return err
		})
	}
	time.Sleep(time.Until(cut.Add(cutFor))) // the cut itself
	heal()
	neverAgain(t, all, 20*time.Second)
	for _, c := range all {
		expectBound(t, c.set.Namespace, c.bound)
		c.set.WaitReady(t, 2*time.Minute)
	}
}

// cutOff is a set whose primary is cut off, with a client on its machine.
type cutOff struct {
	mode  v1alpha1.FailoverMode
	bound time.Duration
	set   *framework.Set
	old   *corev1.Pod
}

func (c *cutOff) writeBeside(t *testing.T) {
	t.Helper()
	address := net.JoinHostPort(c.old.Status.PodIP, strconv.Itoa(naming.PortValkey))
	framework.Apply(t, c.set.Namespace, fmt.Sprintf(besideManifest, c.old.Spec.NodeName, address, besideFor))
	framework.Eventually(t, 30*time.Second, "the client writes", func() error { return logged(t, c.set.Namespace, "first write acknowledged") })
}

func logged(t *testing.T, namespace, what string) error {
	t.Helper()
	out, err := framework.TryKubectl(t, "", "logs", "-n", namespace, "beside")
	if err == nil && !strings.Contains(out, what) {
		err = fmt.Errorf("no %q in %q", what, out)
	}
	return err
}

// neverAgain looks at the write Services all the time: the old primaries must not be in them, back or not.
func neverAgain(t *testing.T, all []*cutOff, length time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < length; time.Sleep(200 * time.Millisecond) {
		for _, c := range all {
			pods, err := readyEndpoints(t.Context(), c.set)
			if err == nil && (len(pods) > 1 || slices.Contains(pods, c.old.Name)) {
				t.Fatalf("%s: %s after the cut was healed the write Service leads to %v", c.mode, time.Since(began), pods)
			}
		}
	}
}

// expectBound waits for the client's end, and holds what it lost against how much it wrote in a second.
func expectBound(t *testing.T, namespace string, bound time.Duration) {
	t.Helper()
	var summary framework.Summary
	framework.Eventually(t, besideFor+3*time.Minute, "the client has read back what was acknowledged", func() error {
		out, err := framework.TryKubectl(t, "", "logs", "-n", namespace, "beside")
		if err != nil {
			return err
		}
		start := strings.Index(out, "{")
		if start < 0 {
			return fmt.Errorf("no summary in %q", out)
		}
		return json.NewDecoder(strings.NewReader(out[start:])).Decode(&summary)
	})
	t.Logf("%+v", summary)
	// Four writers, each at most once in 2 ms.
	if most := int(bound/(2*time.Millisecond)) * 4; summary.Lost > most {
		t.Errorf("%d acknowledged writes were lost, which is more than can be written in %s", summary.Lost, bound)
	}
	refused := slices.ContainsFunc(summary.Errors, func(text string) bool { return strings.HasPrefix(text, "NOREPLICAS") })
	if !refused || summary.Failed == 0 {
		t.Errorf("the server refused nothing: %v", summary.Errors)
	}
}
