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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// One Valkey of three under three Sentinels lives through everything that does not need a set-up of its own.
func TestMonitoredValkey(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "monitored")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel})
	c := e.Client(t, ns)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *framework.Set, *framework.Client)
	}{
		{"a write is replicated and readable", writeAndRead},
		{"tables", tables},
		{"default specs raise no warning under restricted", noWarnings},
		{"failover of the Valkey", failoverOfValkey},
		{"failover of the ValkeySentinel", failoverOfSentinel},
		{"monitors are live", monitorsAreLive},
		{"a deleted replica rejoins", deletedReplicaRejoins},
		{"a Sentinel's container dies (A7)", sentinelContainerDies},
		{"failover, then a Sentinel pod is deleted (A8)", sentinelPodIsReplaced},
		{"the write Service follows (F1)", writeServiceFollows},
		{"writes through the write Service after a failover (F3)", noReadOnlyAnswers},
		{"three failovers leave the Sentinels alone (B5)", failoversLeaveSentinelsAlone},
		{"replaced pod starts as replica without the controller (E4)", oldPrimaryReturnsWithoutController},
		{"failover without the controller (B3)", failoverWithoutController},
		{"a live change outlives the controller (J5)", liveChangeOutlivesTheController},
		{"an upgrade restarts nothing (G8)", upgradeRestartsNothing},
		{"relabelled: the monitor goes", relabelled},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			s.WaitReady(t, 90*time.Second)
			s.WaitAgreed(t)
			step.run(t, s, c)
		}) {
			t.FailNow()
		}
	}
}

func writeAndRead(t *testing.T, s *framework.Set, c *framework.Client) {
	if got := c.Must(t, s.PrimaryAddress(), "SET", "greeting", "hello"); got != "OK" {
		t.Fatalf("SET answered %q", got)
	}
	framework.Eventually(t, 5*time.Second, "the write is on a replica", func() error {
		got, err := c.Do(t, s.Address(s.Replica(t)), "GET", "greeting")
		if err == nil && got != "hello" {
			err = fmt.Errorf("GET answered %q", got)
		}
		return err
	})
}

func tables(t *testing.T, s *framework.Set, _ *framework.Client) {
	out := framework.Kubectl(t, "get", "valkeys,valkeysentinels,valkeynodes", "-n", s.Namespace)
	for _, want := range []string{"main", "Ready", "main-0", "main-1", "main-2", "watch", "3/3", s.Primary(t)} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

func noWarnings(t *testing.T, s *framework.Set, _ *framework.Client) {
	events, err := s.Env.Kube.CoreV1().Events(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		if message := events.Items[i].Message; strings.Contains(message, "PodSecurity") {
			t.Errorf("event: %s", message)
		}
	}
}

func failoverOfValkey(t *testing.T, s *framework.Set, c *framework.Client) {
	before := s.Primary(t)
	s.Planned(t, c, "handover", s.ViaSentinel(), func() {
		// The table of verbs of kubectl: create --raw is how a person without our tools asks for it. What is refused as too early, with nothing done,
		// as on a busy machine where a server does not answer at once, is asked again.
		out := ""
		framework.Eventually(t, 30*time.Second, "the failover is accepted", func() (err error) {
			out, err = framework.TryKubectl(t, "{}", "create", "--raw", fmt.Sprintf("/apis/valkey.io/v1alpha1/namespaces/%s/valkeys/%s/failover", s.Namespace, s.Name), "-f", "-")
			if err != nil && !strings.Contains(err.Error(), "(TooManyRequests)") {
				t.Fatal(err)
			}
			return err
		})
		if !strings.Contains(out, `"phase":"Succeeded"`) || !strings.Contains(out, fmt.Sprintf(`"from":%q`, before)) {
			t.Fatalf("unexpected answer: %s", out)
		}
		framework.Eventually(t, 10*time.Second, "status names the new primary", func() error {
			if now := s.Primary(t); now == before {
				return fmt.Errorf("still %s", now)
			}
			return nil
		})
	})

	// And by the typed clientset, to a chosen node.
	before = s.Primary(t)
	target := s.Replica(t)
	answer := s.Failover(t, v1alpha1.FailoverRequestSpec{To: target})
	if answer.Phase != v1alpha1.OperationSucceeded || answer.From != before || answer.To != target || !answer.Coordinated {
		t.Errorf("unexpected answer %+v", answer)
	}
	framework.Eventually(t, 10*time.Second, target+" is primary in status", func() error {
		if now := s.Primary(t); now != target {
			return fmt.Errorf("%s is", now)
		}
		return nil
	})
	if last := s.Get(t).Status.LastFailover; last == nil || last.From != before || last.To != target || last.Cause != v1alpha1.FailoverCauseRequested {
		t.Errorf("lastFailover is %+v", last)
	}
}

func failoverOfSentinel(t *testing.T, s *framework.Set, _ *framework.Client) {
	before := s.Primary(t)
	api := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace)
	dry, err := api.Failover(t.Context(), s.Sentinel, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Valkey: s.Name}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if dry.Status.Phase != v1alpha1.OperationPending || s.Primary(t) != before {
		t.Errorf("a dry run answered %+v; primary is %s, was %s", dry.Status, s.Primary(t), before)
	}
	answer, err := api.Failover(t.Context(), s.Sentinel, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Valkey: s.Name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Status.Phase != v1alpha1.OperationSucceeded || answer.Status.From != before || answer.Status.To == before {
		t.Errorf("unexpected answer %+v", answer.Status)
	}
	if _, err := api.Failover(t.Context(), s.Sentinel, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Valkey: "nobody"}}, metav1.CreateOptions{}); err == nil {
		t.Error("a failover of a Valkey that is not monitored was accepted")
	}
}

func monitorsAreLive(t *testing.T, s *framework.Set, _ *framework.Client) {
	list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(t.Context(), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || len(list.Sentinels) != 3 || list.ObservedAt.IsZero() {
		t.Fatalf("unexpected answer %+v", list)
	}
	m := list.Items[0]
	if m.MonitorName != s.Name || !m.Agreed || !m.OK || m.Quorum != 2 || len(m.Views) != 3 || m.PrimaryAddress != s.Address(s.Primary(t)) {
		t.Errorf("unexpected monitor %+v", m)
	}
	out := framework.Kubectl(t, "get", "valkeysentinels", s.Sentinel, "-n", s.Namespace, "--subresource=monitors")
	if !strings.Contains(out, s.Name) || !strings.Contains(out, s.Primary(t)) {
		t.Errorf("the table of monitors says:\n%s", out)
	}
}

func deletedReplicaRejoins(t *testing.T, s *framework.Set, _ *framework.Client) {
	primary := s.Primary(t)
	s.ReplacePod(t, s.Replica(t))
	s.WaitReady(t, time.Minute)
	if now := s.Primary(t); now != primary {
		t.Errorf("the primary changed from %s to %s", primary, now)
	}
}

// killContainer ends the main process of a pod's container, and waits until it has been restarted.
func killContainer(t *testing.T, s *framework.Set, pod, container string) {
	t.Helper()
	before, err := containerRestarts(t, s, pod, container)
	if err != nil {
		t.Fatal(err)
	}
	framework.Cluster(t, "signal", "SIGKILL", s.Namespace, pod, container)
	framework.Eventually(t, 40*time.Second, pod+"/"+container+" has been restarted", func() error {
		now, err := containerRestarts(t, s, pod, container)
		if err == nil && now <= before {
			err = fmt.Errorf("%d restarts", now)
		}
		return err
	})
}

func containerRestarts(t *testing.T, s *framework.Set, pod, container string) (int32, error) {
	t.Helper()
	p, err := s.Env.Kube.CoreV1().Pods(s.Namespace).Get(context.WithoutCancel(t.Context()), pod, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	for _, status := range p.Status.ContainerStatuses {
		if status.Name == container {
			return status.RestartCount, nil
		}
	}
	return 0, fmt.Errorf("no container %s", container)
}

func sentinelContainerDies(t *testing.T, s *framework.Set, _ *framework.Client) {
	pod := naming.SentinelPod(s.Sentinel, 1)
	killContainer(t, s, pod, naming.ContainerSentinel)
	framework.Eventually(t, 30*time.Second, "it knows its monitor and two peers again", func() error { return wholeOn(t, s, pod) })
}

// wholeOn is whether a Sentinel knows the monitor at the real primary, two replicas and two peers, and all agree.
func wholeOn(t *testing.T, s *framework.Set, pod string) error {
	list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(t.Context(), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, m := range list.Items {
		for _, v := range m.Views {
			if v.Pod == pod && v.Registered && v.OtherSentinels == 2 && v.Replicas == 2 && m.Agreed && m.PrimaryAddress == s.Address(s.Primary(t)) {
				return nil
			}
		}
	}
	return fmt.Errorf("monitors: %+v", list.Items)
}

func sentinelPodIsReplaced(t *testing.T, s *framework.Set, _ *framework.Client) {
	before := s.Primary(t)
	answer := s.Failover(t, v1alpha1.FailoverRequestSpec{})
	if answer.To == before {
		t.Fatalf("unexpected answer %+v", answer)
	}
	pod := naming.SentinelPod(s.Sentinel, 0)
	s.Env.DeletePod(t, s.Namespace, pod, 0)
	framework.Eventually(t, 10*time.Second, "availableQuorum shows the loss", func() error {
		if m := s.Get(t).Status.Monitoring; m.AvailableQuorum != 2 {
			return fmt.Errorf("availableQuorum %d", m.AvailableQuorum)
		}
		return nil
	})
	framework.Eventually(t, time.Minute, "the new Sentinel is whole", func() error { return wholeOn(t, s, pod) })
	s.WaitReady(t, 30*time.Second)
	if now := s.Primary(t); now != answer.To {
		t.Errorf("the primary is %s, the failover made it %s", now, answer.To)
	}
}

func relabelled(t *testing.T, s *framework.Set, c *framework.Client) {
	framework.Kubectl(t, "label", "-n", s.Namespace, "valkey", s.Name, "team=b", "--overwrite")
	framework.Eventually(t, 30*time.Second, "no Sentinel holds the monitor", func() error {
		for _, addr := range s.SentinelAddresses() {
			if err := c.HoldsNoMonitor(t, addr, s.Name); err != nil {
				return err
			}
		}
		return nil
	})
	events := framework.Kubectl(t, "get", "events", "-n", s.Namespace)
	if !strings.Contains(events, v1alpha1.EventMonitorRemoved) {
		t.Errorf("no event %s in:\n%s", v1alpha1.EventMonitorRemoved, events)
	}
	framework.Eventually(t, 30*time.Second, "status says that nobody monitors it", func() error {
		for _, cond := range s.Get(t).Status.Conditions {
			if cond.Type == v1alpha1.ConditionMonitored && cond.Status == metav1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("conditions: %+v", s.Get(t).Status.Conditions)
	})
	framework.Kubectl(t, "label", "-n", s.Namespace, "valkey", s.Name, "team=a", "--overwrite")
	s.WaitReady(t, time.Minute)
}
