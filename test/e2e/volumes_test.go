//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// C2: the primary's volume cannot be attached any more. Another node is primary, the broken one is named, and rejoins when its volume is back.
func TestC2VolumeThatIsGone(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "c2")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	c := e.Client(t, ns)
	old := s.Primary(t)
	ledger := c.Ledger(t, "c2", s.ViaSentinel()...)
	giveBack := e.LoseVolume(t, ns, naming.NodeClaim(old))
	e.DeletePod(t, ns, naming.NodePod(old), 0)
	now := s.WaitSwitch(t, c, s.Address(old), time.Minute)
	framework.Eventually(t, time.Minute, "status names the new primary, and the node that is broken", func() error {
		status := s.Get(t).Status
		if status.PrimaryAddress != now || status.State == v1alpha1.StateReady || !strings.Contains(status.Message, old) {
			return fmt.Errorf("primary %s, state %s: %s", status.PrimaryAddress, status.State, status.Message)
		}
		return nil
	})
	giveBack()
	s.WaitPrimary(t, now, 3*time.Minute)
	if sum := ledger.Close(t, s); sum.LostWithinMillis > framework.Unreplicated.Milliseconds() {
		t.Errorf("%d acknowledged writes are lost, the first of them %d ms old at the crash", sum.Lost, sum.LostWithinMillis)
	}
}

// J1: volumes grow without a restart, and what is added later has the new size.
func TestJ1VolumesGrow(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "j1")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, Persistent: true})
	c := e.Client(t, ns)
	before := podUIDs(t, s)
	s.Planned(t, c, "j1", []string{"-addr", s.PrimaryAddress()}, func() {
		s.Patch(t, `{"spec":{"persistence":{"size":"128Mi"}}}`)
		waitCapacity(t, s, 2)
		s.WaitReady(t, time.Minute)
	})
	for node, uid := range podUIDs(t, s) {
		if before[node] != uid {
			t.Errorf("%s has another pod", node)
		}
	}
	s.Patch(t, `{"spec":{"replicas":2}}`)
	s.WaitReady(t, 2*time.Minute)
	waitCapacity(t, s, 3)
}

// waitCapacity waits until so many volumes have 128 MiB.
func waitCapacity(t *testing.T, s *framework.Set, nodes int) {
	t.Helper()
	framework.Eventually(t, 2*time.Minute, fmt.Sprintf("%d volumes of 128Mi", nodes), func() error {
		for i := range nodes {
			claim, err := s.Env.Kube.CoreV1().PersistentVolumeClaims(s.Namespace).Get(t.Context(), naming.NodeClaim(naming.NodeName(s.Name, i)), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if capacity := claim.Status.Capacity[corev1.ResourceStorage]; capacity.String() != "128Mi" {
				return fmt.Errorf("%s has %s", claim.Name, capacity.String())
			}
		}
		return nil
	})
}
