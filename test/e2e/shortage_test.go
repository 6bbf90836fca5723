//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// A crowd takes every connection of a primary: status says so and what to do, nobody is promoted for it, and it passes with the crowd.
func TestPrimaryWithAllTheClientsItMayHave(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "crowd")
	s := e.Start(t, ns, framework.Options{
		Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, DownAfter: 3 * time.Second, Extra: "  config: {maxclients: \"64\"}\n",
	})
	old := s.Primary(t)
	leave := e.Client(t, ns).Crowd(t, s.Address(old))
	framework.Eventually(t, 30*time.Second, "status says that the primary has no room", func() error {
		status := s.Get(t).Status
		if reason := memberReason(status, old); reason != v1alpha1.ReasonTooManyClients {
			return fmt.Errorf("its reason is %q", reason)
		}
		if !strings.Contains(status.Message, "maxclients") {
			return fmt.Errorf("the message is %q", status.Message)
		}
		return nil
	})
	for full := time.Now(); time.Since(full) < 10*time.Second; time.Sleep(time.Second) { // the time in which nothing may happen
		if now := s.Get(t).Status; now.Primary != old || now.LastFailover != nil {
			t.Fatalf("the primary is %s, lastFailover %+v", now.Primary, now.LastFailover)
		}
	}
	leave()
	s.WaitReady(t, time.Minute)
	if now := s.Primary(t); now != old {
		t.Errorf("%s is primary", now)
	}
}

func memberReason(status v1alpha1.ValkeyStatus, node string) string {
	for _, m := range status.Members {
		if m.Node == node {
			return m.Reason
		}
	}
	return ""
}

// C5: of three Sentinels with a quorum of one, two are lost: status says why no failover can be authorised. Then the third and the replica go,
// too: nobody confirms the primary, it refuses writes, and status says that.
func TestC5SentinelsThatAreTooFew(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "few")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second})
	c := e.Client(t, ns)
	s.Patch(t, `{"spec":{"failover":{"sentinel":{"quorum":1}}}}`)
	s.WaitCondition(t, v1alpha1.ConditionConfigurationWarning, metav1.ConditionTrue, "1 of 3 is no majority", 30*time.Second)
	s.WaitReady(t, time.Minute)
	primary := s.Primary(t)
	allow := noNewPods(t, e, ns)
	e.DeletePod(t, ns, naming.SentinelPod(s.Sentinel, 0), 0)
	e.DeletePod(t, ns, naming.SentinelPod(s.Sentinel, 1), 0)
	s.WaitCondition(t, v1alpha1.ConditionSentinelQuorumHealthy, metav1.ConditionFalse, "1 of 3 Sentinels available, 2 must authorise a failover", time.Minute)
	c.Must(t, s.PrimaryAddress(), "SET", "with-one-sentinel", "1")

	e.DeletePod(t, ns, naming.SentinelPod(s.Sentinel, 2), 0)
	e.DeletePod(t, ns, naming.NodePod(s.Replica(t)), 0)
	framework.Eventually(t, time.Minute, "the primary refuses writes", func() error {
		if answer, err := c.Do(t, s.Address(primary), "SET", "alone", "1"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			return fmt.Errorf("SET: %s, %w", answer, err)
		}
		return nil
	})
	s.WaitCondition(t, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonWritesRefused, time.Minute)
	if message := s.Get(t).Status.Message; !strings.Contains(message, "must come back") {
		t.Errorf("no way out in %q", message)
	}
	allow()
	s.WaitReady(t, 4*time.Minute) // the StatefulSets' controller waits longer from one refused pod to the next
	c.Must(t, s.PrimaryAddress(), "SET", "whole", "1")
	if got := c.Must(t, s.PrimaryAddress(), "GET", "with-one-sentinel"); got != "1" || s.Primary(t) != primary {
		t.Errorf("%s is primary, and has %q", s.Primary(t), got)
	}
}

// A5: the pods of the machine that has the primary and a Sentinel are evicted, as a drain does.
func TestA5DrainOfThePrimaryAndASentinel(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "drain")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Extra: apart})
	c := e.Client(t, ns)
	primary := s.Primary(t)
	old, err := s.Pod(t, primary)
	if err != nil {
		t.Fatal(err)
	}
	beside := sentinelOn(t, s, old.Spec.NodeName)
	s.Planned(t, c, "a5", s.ViaSentinel(), func() {
		for _, pod := range []string{beside, old.Name} {
			framework.Eventually(t, 30*time.Second, "the eviction of "+pod+" is granted", func() error {
				return e.Kube.CoreV1().Pods(ns).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: ns}})
			})
		}
		s.WaitCondition(t, v1alpha1.ConditionSentinelQuorumHealthy, metav1.ConditionTrue, "", 30*time.Second) // two of three are enough
		framework.Eventually(t, 30*time.Second, "another node is primary", func() error {
			if s.Primary(t) == primary {
				return fmt.Errorf("still %s", primary)
			}
			return nil
		})
		s.WaitReady(t, 2*time.Minute)
	})
}

// sentinelOn is the pod of a Sentinel on a machine.
func sentinelOn(t *testing.T, s *framework.Set, machine string) string {
	t.Helper()
	for i := range s.Sentinels {
		name := naming.SentinelPod(s.Sentinel, i)
		pod, err := s.Env.Kube.CoreV1().Pods(s.Namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if pod.Spec.NodeName == machine {
			return name
		}
	}
	t.Fatalf("no Sentinel is on %s", machine)
	return ""
}
