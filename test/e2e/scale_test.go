//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// A monitored Valkey with volumes loses pods, nodes and replicas in every way that leaves the data.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "members")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Persistent: true})
	c := e.Client(t, ns)
	for _, step := range []struct {
		name string
		run  func(*testing.T, *framework.Set, *framework.Client)
	}{
		{"each replica is deleted in turn (A1)", replicasInTurn},
		{"a replica is pointed elsewhere (A3)", replicaPointedElsewhere},
		{"kubectl scale below the primary's index (B2, L15)", scaledBelowThePrimary},
		{"an autoscaler, up and below the primary's index (L15)", autoscaled},
		{"every data pod and every Sentinel at once (A4)", everythingAtOnce},
	} {
		t.Run(step.name, func(t *testing.T) {
			s.WaitReady(t, 90*time.Second)
			s.WaitAgreed(t)
			step.run(t, s, c)
		})
	}
}

// peered is an error unless each Sentinel knows its two peers, and all name the primary of the status.
func peered(t *testing.T, s *framework.Set) error {
	t.Helper()
	list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(t.Context(), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != 1 || !list.Items[0].Agreed || list.Items[0].PrimaryAddress != s.Address(s.Primary(t)) {
		return fmt.Errorf("monitors: %+v", list.Items)
	}
	for _, v := range list.Items[0].Views {
		if v.OtherSentinels != 2 {
			return fmt.Errorf("%s knows %d peers", v.Pod, v.OtherSentinels)
		}
	}
	return nil
}

func replicasInTurn(t *testing.T, s *framework.Set, c *framework.Client) {
	primary := s.Primary(t)
	for round := range 2 {
		for _, m := range s.Get(t).Status.Members {
			if m.Node == primary {
				continue
			}
			s.Env.DeletePod(t, s.Namespace, naming.NodePod(m.Node), 0)
			framework.Eventually(t, time.Minute, fmt.Sprintf("round %d: every Sentinel lists two replicas, %s too", round, m.Node), func() error {
				return errors.Join(s.Remembered(t, c, 2), s.Ready(t))
			})
		}
	}
	if now := s.Primary(t); now != primary {
		t.Errorf("the primary is %s, it was %s", now, primary)
	}
}

func replicaPointedElsewhere(t *testing.T, s *framework.Set, c *framework.Client) {
	replica, primary := s.Replica(t), s.Primary(t)
	password := s.SystemPassword(t, naming.UserOperator)
	if _, err := c.DoAs(t, s.Address(replica), naming.UserOperator, password, "REPLICAOF", "203.0.113.1", "6379"); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, 40*time.Second, "an event names the pod that does not follow", func() error {
		out := framework.Kubectl(t, "get", "events", "-n", s.Namespace, "--field-selector=reason="+v1alpha1.EventReplicationUnhealthy, "-o", "jsonpath={.items[*].message}")
		if !strings.Contains(out, naming.NodePod(replica)+": "+v1alpha1.ReasonWrongPrimary) {
			return fmt.Errorf("events: %q", out)
		}
		return nil
	})
	s.WaitCondition(t, v1alpha1.ConditionReplicationHealthy, metav1.ConditionTrue, "every replica follows "+primary, time.Minute)
	s.WaitReady(t, time.Minute)
}

// gone waits until a node, its pod and what the Sentinels remember of it are gone. They forget one after the other, and one that distrusts its clock,
// as on a busy machine, is waited for.
func gone(t *testing.T, s *framework.Set, c *framework.Client, node string, replicas int) {
	t.Helper()
	framework.Eventually(t, 3*time.Minute, node+" is gone, also for the Sentinels", func() error {
		if _, err := s.Pod(t, node); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("its pod is there"), err)
		}
		if members := len(s.Get(t).Status.Members); members != replicas+1 {
			return fmt.Errorf("%d members", members)
		}
		return errors.Join(s.Remembered(t, c, replicas), peered(t, s), s.Ready(t))
	})
}

// moveTo makes the node primary, unless it is.
func moveTo(t *testing.T, s *framework.Set, node string) {
	t.Helper()
	if s.Primary(t) != node {
		s.Failover(t, v1alpha1.FailoverRequestSpec{To: node})
		s.WaitPrimary(t, s.Address(node), time.Minute)
	}
}

func scaledBelowThePrimary(t *testing.T, s *framework.Set, c *framework.Client) {
	last := naming.NodeName(s.Name, 2)
	moveTo(t, s, last)
	s.Planned(t, c, "l15", s.ViaSentinel(), func() {
		framework.Kubectl(t, "scale", "valkey", s.Name, "-n", s.Namespace, "--replicas=1")
		gone(t, s, c, last, 1)
	})
	if record := s.Get(t).Status.LastFailover; record == nil || record.From != last || record.Cause != v1alpha1.FailoverCauseRoll {
		t.Errorf("lastFailover is %+v", record)
	}
}

func autoscaled(t *testing.T, s *framework.Set, c *framework.Client) {
	two := int32(2)
	autoscalers := s.Env.Kube.AutoscalingV2().HorizontalPodAutoscalers(s.Namespace)
	// Nobody measures in this cluster: what an autoscaler does without is to keep the number within its limits.
	hpa, err := autoscalers.Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: s.Name},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Valkey", Name: s.Name},
			MinReplicas:    &two, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &two}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last := naming.NodeName(s.Name, 2)
	framework.Eventually(t, time.Minute, last+" is there, as the autoscaler asks", func() error {
		if members := len(s.Get(t).Status.Members); members != 3 {
			return fmt.Errorf("%d members", members)
		}
		return s.Ready(t)
	})
	s.WaitAgreed(t)
	moveTo(t, s, last)
	s.Planned(t, c, "hpa", s.ViaSentinel(), func() {
		framework.Kubectl(t, "patch", "hpa", hpa.Name, "-n", s.Namespace, "--type=merge", "-p", `{"spec":{"minReplicas":1,"maxReplicas":1}}`)
		gone(t, s, c, last, 1)
	})
	if err := autoscalers.Delete(t.Context(), hpa.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func everythingAtOnce(t *testing.T, s *framework.Set, c *framework.Client) {
	s.Crash(t, c, "a4", s.ViaSentinel(), func() {
		s.Failover(t, v1alpha1.FailoverRequestSpec{})
		began := time.Now()
		stopAll(t, s)
		s.WaitReady(t, 90*time.Second)
		t.Logf("whole %s after all pods were deleted", time.Since(began).Round(100*time.Millisecond))
	})
	if err := peered(t, s); err != nil {
		t.Error(err)
	}
}
