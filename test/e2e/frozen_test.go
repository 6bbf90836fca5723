//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// Sentinels get no time to run for a while. One of them keeps the others from nothing; all of them are told of, also while they distrust their clock
// afterwards (TILT) and hold no primary for down.
func TestFrozenSentinels(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "frozen")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second})
	c := e.Client(t, ns)

	thaw := freezeSentinels(t, s, 1)
	s.WaitSentinelCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, "Sentinel 0 does not answer", time.Minute)
	s.WaitSentinelCondition(t, v1alpha1.ConditionQuorumHealthy, metav1.ConditionTrue, "", time.Minute)
	old := s.Primary(t)
	s.Crash(t, c, "one", s.ViaSentinel(), func() {
		s.CrashPod(t, old)
		s.WaitSwitchOn(t, c, s.SentinelAddresses()[1:], s.Address(old), switchPatience)
		thaw()
		s.WaitSentinelCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, "Sentinel 0 distrusts its clock", time.Minute)
	})
	s.WaitSentinelCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionFalse, "", time.Minute)
	s.WaitAgreed(t)

	thaw = freezeSentinels(t, s, s.Sentinels)
	s.WaitSentinelCondition(t, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse, v1alpha1.ReasonSentinelsUnreachable, time.Minute)
	s.WaitCondition(t, v1alpha1.ConditionSentinelQuorumHealthy, metav1.ConditionUnknown, v1alpha1.ReasonSentinelsUnreachable, time.Minute)
	thaw()
	s.WaitSentinelCondition(t, v1alpha1.ConditionQuorumHealthy, metav1.ConditionFalse, "trust their clock", time.Minute)
	s.WaitSentinelCondition(t, v1alpha1.ConditionQuorumHealthy, metav1.ConditionTrue, "", 2*time.Minute)
	s.WaitReady(t, time.Minute)
	s.WaitAgreed(t)
}

// freezeSentinels stops the first Sentinels where they are, and returns what lets them go on.
func freezeSentinels(t *testing.T, s *framework.Set, count int) (thaw func()) {
	t.Helper()
	signal := func(name string) {
		for i := range count {
			framework.Cluster(t, "signal", "--program", "valkey-server", name, s.Namespace, naming.SentinelPod(s.Sentinel, i), naming.ContainerSentinel)
		}
	}
	signal("SIGSTOP")
	return func() { signal("SIGCONT") }
}
