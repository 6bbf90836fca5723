//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// shorterThanAFailover is the longest time in which a client may not write during a roll. The Sentinels need more to notice a loss.
const shorterThanAFailover = 3 * time.Second

// A monitored Valkey without persistence and with 100 MB of data is rolled from version to version under load.
func TestRollsUnderLoad(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "rolls")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Image: "docker.io/valkey/valkey:8.0"})
	c := e.Client(t, ns)
	c.Fill(t, s.PrimaryAddress())
	s.WaitReady(t, time.Minute)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *framework.Set, *framework.Client)
	}{
		{"the image, 8.0 to 8.1, with 100 MB (D2, E1)", imageTo81},
		{"the image, 8.1 to 9.1, and resources (C8, D5, E1, G1)", imageTo91},
		{"configuration, live and fixed, approved by a person (G7, J4)", configuration},
	} {
		t.Run(step.name, func(t *testing.T) {
			s.WaitReady(t, 90*time.Second)
			s.WaitAgreed(t)
			step.run(t, s, c)
			if got := c.Filled(t, s.PrimaryAddress()); got != "3" {
				t.Errorf("%s of 3 old keys are there", got)
			}
		})
	}
}

// rolled makes a change under the ledger, and watches the pods and the write Service until every pod is another one.
func rolled(t *testing.T, s *framework.Set, c *framework.Client, prefix, patch string, meanwhile func()) {
	t.Helper()
	before := podUIDs(t, s)
	sum := s.Planned(t, c, prefix, append(s.ViaSentinel(), "-every", "5ms"), func() {
		watch := watchRoll(t, s)
		s.Patch(t, patch)
		if meanwhile != nil {
			meanwhile()
		}
		waitOthers(t, s, before, 6*time.Minute)
		watch.end(t)
	})
	if gap := time.Duration(sum.MaxGapMillis) * time.Millisecond; gap > shorterThanAFailover {
		t.Errorf("nobody could write for %s", gap)
	}
}

func podUIDs(t *testing.T, s *framework.Set) map[string]string {
	t.Helper()
	uids := map[string]string{}
	for _, m := range s.Get(t).Status.Members {
		pod, err := s.Pod(t, m.Node)
		if err != nil {
			t.Fatal(err)
		}
		uids[m.Node] = string(pod.UID)
	}
	return uids
}

// waitOthers waits until every pod is another one than before, and all is well.
func waitOthers(t *testing.T, s *framework.Set, before map[string]string, patience time.Duration) {
	t.Helper()
	framework.Eventually(t, patience, "every pod is another one", func() error {
		for node, uid := range before {
			pod, err := s.Pod(t, node)
			if err != nil {
				return err
			}
			if string(pod.UID) == uid {
				return fmt.Errorf("%s is the old one: %s", node, s.Get(t).Status.Message)
			}
		}
		return s.Ready(t)
	})
}

func imageTo81(t *testing.T, s *framework.Set, c *framework.Client) {
	rolled(t, s, c, "to81", `{"spec":{"image":"docker.io/valkey/valkey:8.1"}}`, nil)
	onEveryMember(t, s, c, "8.1", func(info string) string { return field(info, "valkey_version") })
}

func imageTo91(t *testing.T, s *framework.Set, c *framework.Client) {
	rolled(t, s, c, "to91", `{"spec":{"image":"docker.io/valkey/valkey:9.1","resources":{"requests":{"cpu":"20m"},"limits":{"memory":"512Mi"}}}}`, nil)
	onEveryMember(t, s, c, "9.1", func(info string) string { return field(info, "valkey_version") })
	onEveryMember(t, s, c, strconv.Itoa(512*1024*1024/4*3), func(info string) string { return field(info, "maxmemory") })
}

// field is a value of INFO.
func field(info, name string) string {
	for line := range strings.SplitSeq(info, "\n") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			return value
		}
	}
	return ""
}

// onEveryMember waits until what is made of each member's INFO begins with the wanted text.
func onEveryMember(t *testing.T, s *framework.Set, c *framework.Client, want string, of func(info string) string) {
	t.Helper()
	framework.Eventually(t, time.Minute, "every member has "+want, func() error {
		for _, m := range s.Get(t).Status.Members {
			info, err := c.Do(t, s.Address(m.Node), "INFO")
			if err != nil {
				return err
			}
			if got := of(info); !strings.HasPrefix(got, want) {
				return fmt.Errorf("%s has %q", m.Node, got)
			}
		}
		return nil
	})
}

// configuration changes a key that a running server takes, one that it does not, and undoes what a person sets by hand. The node that is
// primary by then waits for a person.
func configuration(t *testing.T, s *framework.Set, c *framework.Client) {
	uids := podUIDs(t, s)
	configured := func(key, want string) {
		t.Helper()
		password := s.SystemPassword(t, naming.UserOperator)
		framework.Eventually(t, time.Minute, "every member has "+key+" "+want, func() error {
			for _, m := range s.Get(t).Status.Members {
				out, err := c.DoAs(t, s.Address(m.Node), naming.UserOperator, password, "CONFIG", "GET", key)
				if err != nil {
					return err
				}
				if lines := strings.Fields(out); len(lines) != 2 || lines[1] != want {
					return fmt.Errorf("%s: %q", m.Node, out)
				}
			}
			return nil
		})
	}
	s.Patch(t, `{"spec":{"config":{"maxmemory-policy":"allkeys-lfu"}}}`)
	configured("maxmemory-policy", "allkeys-lfu")
	for node, uid := range podUIDs(t, s) {
		if uids[node] != uid {
			t.Errorf("the pod of %s was replaced for what a running server can be told", node)
		}
	}
	password := s.SystemPassword(t, naming.UserOperator)
	if _, err := c.DoAs(t, s.Address(s.Replica(t)), naming.UserOperator, password, "CONFIG", "SET", "maxmemory-policy", "noeviction"); err != nil {
		t.Fatal(err)
	}
	configured("maxmemory-policy", "allkeys-lfu")

	framework.Kubectl(t, "annotate", "valkey", s.Name, "-n", s.Namespace, v1alpha1.AnnotationPrimaryRoll+"="+v1alpha1.PrimaryRollManual)
	primary := s.Primary(t)
	rolled(t, s, c, "fixed", `{"spec":{"config":{"tcp-backlog":"256"}}}`, func() {
		s.WaitCondition(t, v1alpha1.ConditionProgressing, metav1.ConditionTrue, v1alpha1.ReasonAwaitingApproval, 2*time.Minute)
		if now := s.Primary(t); now != primary {
			t.Errorf("%s became primary without approval", now)
		}
		node, err := s.Env.Valkey.ValkeyV1alpha1().ValkeyNodes(s.Namespace).Get(t.Context(), primary, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		framework.Kubectl(t, "annotate", "valkey", s.Name, "-n", s.Namespace, v1alpha1.AnnotationApprovePrimaryRoll+"="+node.Status.PendingRevision)
	})
	configured("tcp-backlog", "256")
	configured("maxmemory-policy", "allkeys-lfu")
}

// G2: five replicas get another image, never two at once.
func TestG2FiveReplicas(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "g2")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 5, Mode: v1alpha1.FailoverModeOperator, Image: "docker.io/valkey/valkey:8.0"})
	c := e.Client(t, ns)
	before := podUIDs(t, s)
	s.Planned(t, c, "g2", []string{"-addr", s.PrimaryAddress(), "-every", "5ms"}, func() {
		watch := watchRoll(t, s)
		s.Patch(t, `{"spec":{"image":"docker.io/valkey/valkey:8.1"}}`)
		waitOthers(t, s, before, 6*time.Minute)
		watch.end(t)
	})
	onEveryMember(t, s, c, "8.1", func(info string) string { return field(info, "valkey_version") })
}
