//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// readyEndpoints are the pods behind the write Service that may get traffic now.
func readyEndpoints(ctx context.Context, s *framework.Set) ([]string, error) {
	slices, err := s.Env.Kube.DiscoveryV1().EndpointSlices(s.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + naming.PrimaryService(s.Name),
	})
	if err != nil {
		return nil, err
	}
	var pods []string
	for i := range slices.Items {
		for _, endpoint := range slices.Items[i].Endpoints {
			if ready := endpoint.Conditions.Ready; (ready == nil || *ready) && endpoint.TargetRef != nil {
				pods = append(pods, endpoint.TargetRef.Name)
			}
		}
	}
	return pods, nil
}

// The primary's pod is deleted; the endpoints are looked at all the time.
func writeServiceFollows(t *testing.T, s *framework.Set, c *framework.Client) {
	s.Crash(t, c, "f1", s.ViaSentinel(), func() { followed(t, s, c) })
}

func followed(t *testing.T, s *framework.Set, c *framework.Client) {
	t.Helper()
	before := s.Primary(t)
	addr := s.Address(before)
	s.Env.DeletePod(t, s.Namespace, naming.NodePod(before), 0)
	var switched, arrived time.Time
	for deadline := time.Now().Add(40 * time.Second); time.Now().Before(deadline) && arrived.IsZero(); {
		pods, err := readyEndpoints(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(pods) > 1 {
			t.Fatalf("the write Service leads to %v", pods)
		}
		found, err := c.Find(t, s.SentinelAddresses(), s.Name)
		if err == nil && found != addr && switched.IsZero() {
			switched = time.Now()
		}
		if !switched.IsZero() && len(pods) == 1 {
			if pods[0] == naming.NodePod(s.NodeAt(t, found)) {
				arrived = time.Now()
			} else if time.Since(switched) > 5*time.Second {
				t.Fatalf("%s after the switch to %s the write Service still leads to %s", time.Since(switched), found, pods[0])
			}
		}
	}
	if arrived.IsZero() {
		t.Fatalf("the write Service did not follow; the Sentinels switched at %s", switched)
	}
	t.Logf("the write Service followed %s after the switch was seen", arrived.Sub(switched).Round(10*time.Millisecond))
	// It never goes back.
	for range 20 {
		pods, err := readyEndpoints(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods {
			if pod == naming.NodePod(before) {
				t.Fatalf("the old primary %s is in the write Service again", before)
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func noReadOnlyAnswers(t *testing.T, s *framework.Set, c *framework.Client) {
	ledger := c.Ledger(t, "service", "-addr", s.PrimaryAddress())
	answer := s.Failover(t, v1alpha1.FailoverRequestSpec{})
	framework.Eventually(t, 5*time.Second, "the write Service leads to the new primary", func() error {
		pods, err := readyEndpoints(t.Context(), s)
		if err == nil && (len(pods) != 1 || pods[0] != naming.NodePod(answer.To)) {
			err = fmt.Errorf("it leads to %v", pods)
		}
		return err
	})
	// The slice is ours, what follows is the cluster's: kube-proxy takes it over within a second or two.
	framework.Eventually(t, 10*time.Second, "the client's machine has taken the change over", func() error {
		_, err := c.Do(t, s.PrimaryAddress(), "SET", "after", "1")
		return err
	})
	// A new connection through the Service writes without a READONLY answer.
	after := c.Ledger(t, "service-after", "-addr", s.PrimaryAddress())
	time.Sleep(2 * time.Second) // the writing itself: two seconds of it
	if summary := after.Close(t, nil); summary.ReadOnly != 0 || summary.Failed != 0 || summary.Lost != 0 {
		t.Errorf("writes through the write Service after the failover: %+v", summary)
	}
	if summary := ledger.Close(t, s); summary.Lost != 0 {
		t.Errorf("acknowledged writes were lost: %+v", summary)
	}
}

func failoversLeaveSentinelsAlone(t *testing.T, s *framework.Set, c *framework.Client) {
	look := func() map[string]string {
		pods, err := s.Env.Kube.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: naming.LabelSentinel + "=" + s.Sentinel})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for i := range pods.Items {
			p := &pods.Items[i]
			seen[p.Name] = fmt.Sprintf("%s, %d restarts", p.UID, p.Status.ContainerStatuses[0].RestartCount)
		}
		return seen
	}
	before := look()
	s.Planned(t, c, "thrice", s.ViaSentinel(), func() {
		for range 3 {
			s.Failover(t, v1alpha1.FailoverRequestSpec{})
			s.WaitReady(t, 90*time.Second)
		}
	})
	after := look()
	if len(before) != 3 {
		t.Fatalf("%d Sentinel pods", len(before))
	}
	for name, was := range before {
		if after[name] != was {
			t.Errorf("Sentinel %s was %s, is %s", name, was, after[name])
		}
	}
}

// roleOf asks the server itself.
func roleOf(t *testing.T, s *framework.Set, c *framework.Client, node, password string) (string, error) {
	t.Helper()
	out, err := c.DoAs(t, s.Address(node), naming.UserOperator, password, "ROLE")
	if err != nil {
		return "", err
	}
	var role string
	if _, err := fmt.Sscan(out, &role); err != nil {
		return "", err
	}
	return role, nil
}

func waitRole(t *testing.T, s *framework.Set, c *framework.Client, node, password, want string) {
	t.Helper()
	framework.Eventually(t, 90*time.Second, node+" is a "+want, func() error {
		role, err := roleOf(t, s, c, node, password)
		if err == nil && role != want {
			err = fmt.Errorf("it says %s", role)
		}
		return err
	})
}

func oldPrimaryReturnsWithoutController(t *testing.T, s *framework.Set, c *framework.Client) {
	password := s.SystemPassword(t, naming.UserOperator)
	s.Planned(t, c, "e4", s.ViaSentinel(), func() {
		s.Env.ScaleController(t, 0)
		old := s.Primary(t)
		answer := s.Failover(t, v1alpha1.FailoverRequestSpec{})
		s.Env.DeletePod(t, s.Namespace, naming.NodePod(old), 0)
		waitRole(t, s, c, old, password, "slave")
		if role, err := roleOf(t, s, c, answer.To, password); err != nil || role != "master" {
			t.Errorf("%s says %s, %v", answer.To, role, err)
		}
		s.Env.ScaleController(t, 1)
	})
}

func failoverWithoutController(t *testing.T, s *framework.Set, c *framework.Client) {
	var now string
	s.Crash(t, c, "b3-ledger", s.ViaSentinel(), func() { now = crashWithoutController(t, s, c) })
	got, err := c.Do(t, now, "EVAL", "return #redis.call('KEYS', 'b3:*')", "0")
	if err != nil || got != "1000" {
		t.Errorf("%s keys are there, 1000 were written (%v)", got, err)
	}
}

func crashWithoutController(t *testing.T, s *framework.Set, c *framework.Client) (now string) {
	t.Helper()
	s.Env.ScaleController(t, 0)
	old := s.Primary(t)
	s.CrashPod(t, old)
	now = s.WaitSwitch(t, c, s.Address(old), switchPatience)
	for i := range 1000 / 100 {
		// 100 keys a call, written by a script on the primary that the Sentinels name.
		if _, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "EVAL",
			"for i = 1, 100 do redis.call('SET', KEYS[1] .. i, i) end return 100", "1", fmt.Sprintf("b3:%d:", i)); err != nil {
			t.Fatal(err)
		}
	}
	s.Env.ScaleController(t, 1)
	s.WaitPrimary(t, now, 90*time.Second)
	return now
}

// J5: what was changed under running servers holds for one that starts with the controller away.
func liveChangeOutlivesTheController(t *testing.T, s *framework.Set, c *framework.Client) {
	password := s.SystemPassword(t, naming.UserOperator)
	policy := func(node string) error {
		out, err := c.DoAs(t, s.Address(node), naming.UserOperator, password, "CONFIG", "GET", "maxmemory-policy")
		if err == nil && !strings.HasSuffix(out, "allkeys-lfu") {
			err = fmt.Errorf("%s has %q", node, out)
		}
		return err
	}
	s.Patch(t, `{"spec":{"config":{"maxmemory-policy":"allkeys-lfu"}}}`)
	framework.Eventually(t, time.Minute, "every member has the policy", func() error {
		for _, m := range s.Get(t).Status.Members {
			if err := policy(m.Node); err != nil {
				return err
			}
		}
		return nil
	})
	s.Env.ScaleController(t, 0)
	replica := s.Replica(t)
	killContainer(t, s, naming.NodePod(replica), naming.ContainerServer)
	framework.Eventually(t, time.Minute, replica+" has the policy", func() error { return policy(replica) })
	s.Env.DeletePod(t, s.Namespace, naming.NodePod(replica), 0)
	framework.Eventually(t, time.Minute, "its next pod has the policy", func() error { return policy(replica) })
	s.Env.ScaleController(t, 1)
}

// G8: another controller and another API server, whose image names another agent, restart no pod of a Valkey.
func upgradeRestartsNothing(t *testing.T, s *framework.Set, _ *framework.Client) {
	before := podUIDs(t, s)
	framework.Kubectl(t, "set", "env", "-n", "valkey-system", "deployment/valkey-controller", "deployment/valkey-apiserver", "E2E_RELEASE="+fmt.Sprint(time.Now().Unix()))
	for _, deployment := range []string{"valkey-apiserver", "valkey-controller"} {
		framework.Kubectl(t, "rollout", "status", "-n", "valkey-system", "deployment/"+deployment, "--timeout=120s")
	}
	// A change shows that the new controller works, and has looked at every node.
	s.Patch(t, `{"spec":{"config":{"maxmemory-policy":"allkeys-lru"}}}`)
	s.WaitReady(t, time.Minute)
	for node, uid := range podUIDs(t, s) {
		if before[node] != uid {
			t.Errorf("the pod of %s was replaced", node)
		}
	}
}
