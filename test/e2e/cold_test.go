//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// C7: after a failover to another node everything is stopped and started; the newest data win, every time.
func TestColdStartKeepsTheNewestData(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "cold")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	c := e.Client(t, ns)
	for round := range 10 {
		key := fmt.Sprintf("round-%d", round)
		ledger := c.Ledger(t, fmt.Sprintf("c7-%d", round), s.ViaSentinel()...)
		s.Failover(t, v1alpha1.FailoverRequestSpec{})
		if _, err := c.Durably(t, s.SentinelAddresses(), s.Name, "SET", key, "1"); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stopAll(t, s)
		s.WaitReady(t, 3*time.Minute)
		expectUnwritten(t, ledger.Close(t, s))
		for seen := range round + 1 {
			if got, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "GET", fmt.Sprintf("round-%d", seen)); err != nil || got != "1" {
				t.Fatalf("round %d: the write of round %d is %q, %v", round, seen, got, err)
			}
		}
	}
}

// A6: Sentinels that keep what they know on volumes come back, like everything else, with other IPs. No volume is replaced.
func TestA6ColdStartOfPersistentSentinels(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "a6")
	o := framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, Persistent: true}
	s := &framework.Set{Env: e, Namespace: ns, Name: o.Name, Sentinel: "watch", Sentinels: 3}
	framework.Apply(t, ns, framework.SentinelManifest(s.Sentinel)+"  persistence: {size: 16Mi}\n")
	framework.Apply(t, ns, o.Manifest())
	s.WaitReady(t, 3*time.Minute)
	c := e.Client(t, ns)
	s.Failover(t, v1alpha1.FailoverRequestSpec{})
	now := s.Get(t).Status.PrimaryAddress
	ledger := c.Ledger(t, "a6", s.ViaSentinel()...)
	volumes := s.Claims(t)
	if len(volumes) != 5 {
		t.Fatalf("the claims are %v", volumes)
	}
	stopAll(t, s)
	s.WaitReady(t, 3*time.Minute)
	s.WaitPrimary(t, now, time.Minute)
	expectUnwritten(t, ledger.Close(t, s))
	if after := s.Claims(t); !maps.Equal(after, volumes) {
		t.Errorf("the claims were %v, and are %v", volumes, after)
	}
}

// unwritten is how old an acknowledged write may be that all servers of a set lose when they are killed at once: with appendfsync everysec it may
// wait for two seconds in memory while the file is synced (flushAppendOnlyFile in aof.c), and a server gets its turn late on a busy machine.
const unwritten = 2*time.Second + framework.Unreplicated

// expectUnwritten expects that nothing was lost but what may not have been in any file when the servers were killed.
func expectUnwritten(t *testing.T, sum framework.Summary) {
	t.Helper()
	if sum.LostWithinMillis > unwritten.Milliseconds() {
		t.Errorf("%d acknowledged writes are lost, the first of them %d ms old when the writes stopped", sum.Lost, sum.LostWithinMillis)
	}
}

// stopAll deletes every data and Sentinel pod of a set at once and waits until each is another one, which is ready.
func stopAll(t *testing.T, s *framework.Set) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	selector := metav1.ListOptions{LabelSelector: naming.LabelManagedBy + "=" + naming.ManagedBy}
	old, err := s.Env.Kube.CoreV1().Pods(s.Namespace).List(ctx, selector)
	if err != nil || len(old.Items) == 0 {
		t.Fatalf("%d pods, %v", len(old.Items), err)
	}
	uids := map[string]bool{}
	for i := range old.Items {
		uids[string(old.Items[i].UID)] = true
	}
	zero := int64(0)
	if err := s.Env.Kube.CoreV1().Pods(s.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &zero}, selector); err != nil {
		t.Fatal(err)
	}
	// Ready, too: for a moment status still says what was so before.
	framework.Eventually(t, 3*time.Minute, "every pod is another one, and ready", func() error {
		pods, err := s.Env.Kube.CoreV1().Pods(s.Namespace).List(ctx, selector)
		if err != nil {
			return err
		}
		for i := range pods.Items {
			if uids[string(pods.Items[i].UID)] {
				return fmt.Errorf("%s is still there", pods.Items[i].Name)
			}
			if !framework.PodReady(&pods.Items[i]) {
				return fmt.Errorf("%s is not ready", pods.Items[i].Name)
			}
		}
		if len(pods.Items) != len(old.Items) {
			return fmt.Errorf("%d pods", len(pods.Items))
		}
		return nil
	})
}
