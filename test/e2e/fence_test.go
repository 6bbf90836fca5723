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

// E2: the primary is cut off from everything but one client. It stops taking that client's writes, and is not in the write Service.
func TestCutOffPrimaryStopsTakingWrites(t *testing.T) {
	e := framework.Connect(t)
	for _, mode := range []struct {
		mode  v1alpha1.FailoverMode
		extra string
		// bound is that of ADR 16, with room for a busy machine.
		bound time.Duration
	}{
		{v1alpha1.FailoverModeSentinel, apart, 8 * time.Second},
		{v1alpha1.FailoverModeOperator, apart, 10 * time.Second},
	} {
		t.Run(string(mode.mode), func(t *testing.T) {
			ns := e.Namespace(t, "fence")
			s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: mode.mode, Extra: mode.extra})
			s.MovePrimary(t, e.Client(t, ns), func(machine string) bool { return !slices.Contains(e.NodesOfOurs(t), machine) })
			s.WaitReady(t, time.Minute)
			old := s.Primary(t)
			pod, err := s.Pod(t, old)
			if err != nil {
				t.Fatal(err)
			}
			address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortValkey))
			e.WaitWhole(t)
			framework.Apply(t, ns, fmt.Sprintf(besideManifest, pod.Spec.NodeName, address, besideFor))
			framework.Eventually(t, 30*time.Second, "the client writes", func() error { return logged(t, ns, "first write acknowledged") })
			heal := framework.Cut(t, pod.Spec.NodeName)
			cut := time.Now()
			framework.Eventually(t, switchPatience, "the write Service leads to another node", func() error {
				pods, err := readyEndpoints(t.Context(), s)
				if err == nil && (len(pods) != 1 || pods[0] == pod.Name) {
					err = fmt.Errorf("it leads to %v", pods)
				}
				return err
			})
			time.Sleep(time.Until(cut.Add(cutFor))) // the cut itself
			heal()
			neverAgain(t, s, pod.Name, 20*time.Second)
			expectBound(t, ns, mode.bound)
			s.WaitReady(t, 2*time.Minute)
		})
	}
}

func logged(t *testing.T, namespace, what string) error {
	t.Helper()
	out, err := framework.TryKubectl(t, "", "logs", "-n", namespace, "beside")
	if err == nil && !strings.Contains(out, what) {
		err = fmt.Errorf("no %q in %q", what, out)
	}
	return err
}

// neverAgain looks at the write Service all the time: the old primary must not be in it, back or not.
func neverAgain(t *testing.T, s *framework.Set, pod string, length time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < length; time.Sleep(200 * time.Millisecond) {
		pods, err := readyEndpoints(t.Context(), s)
		if err == nil && (len(pods) > 1 || slices.Contains(pods, pod)) {
			t.Fatalf("%s after the cut was healed the write Service leads to %v", time.Since(began), pods)
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
