//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// The primary's pod is deleted, and every change of the endpoints is seen.
func writeServiceFollows(t *testing.T, s *framework.Set, c *framework.Client) {
	s.Crash(t, c, "f1", s.ViaSentinel(), func() { followed(t, s, c) })
}

func followed(t *testing.T, s *framework.Set, c *framework.Client) {
	t.Helper()
	before := s.Primary(t)
	history := watchEndpoints(t, s)
	s.Env.DeletePod(t, s.Namespace, naming.NodePod(before), 0)
	now := s.WaitSwitch(t, c, s.Address(before), switchPatience)
	switched, pod := time.Now(), naming.NodePod(s.NodeAt(t, now))
	framework.Eventually(t, 5*time.Second, "the write Service leads to the new primary", func() error {
		if pods := history.last(); len(pods) != 1 || pods[0] != pod {
			return fmt.Errorf("it leads to %v", pods)
		}
		return nil
	})
	t.Logf("the write Service followed within %s after the switch was seen", time.Since(switched).Round(10*time.Millisecond))
	s.WaitReady(t, 90*time.Second)
	history.check(t, naming.NodePod(before), pod)
}

func noReadOnlyAnswers(t *testing.T, s *framework.Set, c *framework.Client) {
	ledger := c.Ledger(t, "service", "-addr", s.PrimaryAddress())
	// The change cuts a client off, which comes back to the old primary as if its machine still led there; it is not left on it.
	cutOffTwice := c.Stay(t, s.Address(s.Primary(t)), 2, 40*time.Second)
	answer := s.Failover(t, v1alpha1.FailoverRequestSpec{})
	cutOffTwice()
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
		s.ReplacePod(t, old)
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
	// A server that is restarted in its pod starts from the files that the kubelet has brought there.
	framework.Kubectl(t, "wait", "valkeynodes", "--all", "-n", s.Namespace, "--for=condition=LiveConfigApplied", "--timeout=90s")
	s.Env.ScaleController(t, 0)
	replica := s.Replica(t)
	killContainer(t, s, naming.NodePod(replica), naming.ContainerServer)
	framework.Eventually(t, time.Minute, replica+" has the policy", func() error { return policy(replica) })
	s.ReplacePod(t, replica)
	framework.Eventually(t, time.Minute, "its next pod has the policy", func() error { return policy(replica) })
	s.Env.ScaleController(t, 1)
}

// G8: another controller and another API server restart no pod of a Valkey.
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
