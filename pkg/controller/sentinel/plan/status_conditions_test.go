// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Sentinels that were just told of a monitor have not found each other: that is no loss of a quorum, until it lasts.
func TestQuorumAfterARegistration(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		registered time.Time
		before     *metav1.Condition
		want       metav1.ConditionStatus
	}{
		"just registered":          {now.Add(-2 * time.Second), &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNoMonitors}, metav1.ConditionTrue},
		"just registered, unwell":  {now.Add(-2 * time.Second), &metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoQuorum}, metav1.ConditionFalse},
		"just registered, all new": {now.Add(-2 * time.Second), nil, metav1.ConditionFalse},
		"registered a while ago":   {now.Add(-time.Minute), &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNoMonitors}, metav1.ConditionFalse},
		"registered by others":     {time.Time{}, &metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonQuorumReached}, metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			s := &summary{
				plan: Plan{size: 3}, memory: Memory{{Run: "run", Monitor: "v"}: {RegisteredAt: test.registered}},
				monitors: []v1alpha1.MonitorStatus{{Name: "v", RegisteredOn: 3}},
			}
			s.Now, s.Set = now, &v1alpha1.ValkeySentinel{}
			if test.before != nil {
				test.before.Type = v1alpha1.ConditionQuorumHealthy
				s.Set.Status.Conditions = []metav1.Condition{*test.before}
			}
			for range 3 {
				s.Sentinels = append(s.Sentinels, Sentinel{View: topology.SentinelView{Reach: topology.Reach{Class: topology.ReachOK}}})
			}
			if got := s.quorumHealthy(); got.Status != test.want || got.Message == "" && test.before == nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Sentinels that distrust their clock answer, and agree on nothing.
func TestSentinelsThatDistrustTheirClock(t *testing.T) {
	for tilted, want := range map[int]struct {
		quorum, degraded metav1.ConditionStatus
		message          string
	}{
		0: {metav1.ConditionTrue, metav1.ConditionFalse, "all Sentinels answer"},
		1: {metav1.ConditionTrue, metav1.ConditionTrue, "Sentinel 0 distrusts its clock (TILT)"},
		2: {metav1.ConditionFalse, metav1.ConditionTrue, "Sentinel 0 distrusts its clock (TILT); Sentinel 1 distrusts its clock (TILT)"},
	} {
		s := &summary{plan: Plan{size: 3}, monitors: []v1alpha1.MonitorStatus{{Name: "v", RegisteredOn: 3, OK: true}}}
		s.Set = &v1alpha1.ValkeySentinel{}
		s.Objects.Pods = map[string]*corev1.Pod{}
		for i := range 3 {
			s.Sentinels = append(s.Sentinels, Sentinel{View: topology.SentinelView{Reach: topology.Reach{Class: topology.ReachOK}}, Tilt: i < tilted})
			s.Objects.Pods[naming.SentinelPod("", i)] = &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
		}
		if got := s.quorumHealthy(); got.Status != want.quorum {
			t.Errorf("%d: %+v", tilted, got)
		}
		if got := s.degraded(); got.Status != want.degraded || got.Message != want.message {
			t.Errorf("%d: %+v", tilted, got)
		}
	}
}
