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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// L13: a node that a person makes by hand runs, and keeps its data over a restart.
func TestL13NodeByHand(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "l13")
	framework.Apply(t, ns, "apiVersion: valkey.io/v1alpha1\nkind: ValkeyNode\nmetadata: {name: alone}\nspec: {persistence: {size: 64Mi}}\n")
	c := e.Client(t, ns)
	s := &framework.Set{Env: e, Namespace: ns, Name: "alone"}
	ready := func(patience time.Duration, unlike string) (uid string) {
		framework.Eventually(t, patience, "the node is ready", func() error {
			node, err := e.Valkey.ValkeyV1alpha1().ValkeyNodes(ns).Get(t.Context(), "alone", metav1.GetOptions{})
			if err != nil {
				return err
			}
			pod, err := s.Pod(t, "alone")
			if err == nil && (!node.Status.Ready || string(pod.UID) == unlike || !framework.PodReady(pod)) {
				err = fmt.Errorf("%+v", node.Status.Conditions)
			}
			if err == nil {
				uid = string(pod.UID)
			}
			return err
		})
		return uid
	}
	uid := ready(2*time.Minute, "")
	c.Must(t, s.Address("alone"), "SET", "kept", "1")
	e.DeletePod(t, ns, naming.NodePod("alone"), 0)
	ready(time.Minute, uid)
	if got := c.Must(t, s.Address("alone"), "GET", "kept"); got != "1" {
		t.Errorf("the data are gone: %q", got)
	}
}

// C12: the first copy of a replica is more than its memory limit allows; once the limit is raised it attaches by itself.
func TestC12FirstCopyIsKilled(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "c12")
	s := e.Start(t, ns, framework.Options{Name: "main", Mode: v1alpha1.FailoverModeOperator, Extra: "  resources: {limits: {memory: 512Mi}}\n"})
	c := e.Client(t, ns)
	c.Fill(t, s.PrimaryAddress())
	// The primary holds the only copy, and so keeps its pod and its limit.
	s.Patch(t, `{"spec":{"replicas":1,"resources":{"limits":{"memory":"64Mi"}}}}`)
	framework.Eventually(t, 2*time.Minute, "the replica's server is killed", func() error {
		pod, err := s.Pod(t, naming.NodeName(s.Name, 1))
		if err != nil {
			return err
		}
		for _, status := range pod.Status.ContainerStatuses {
			if status.Name == naming.ContainerServer && status.RestartCount > 0 {
				return nil
			}
		}
		return fmt.Errorf("%s: %s", pod.Status.Phase, s.Get(t).Status.Message)
	})
	if status := s.Get(t).Status; status.SyncedReplicas != 0 || status.Primary != naming.NodeName(s.Name, 0) {
		t.Errorf("%d replicas in sync, the primary is %s", status.SyncedReplicas, status.Primary)
	}
	s.Patch(t, `{"spec":{"resources":{"limits":{"memory":"512Mi"}}}}`)
	s.WaitReady(t, 3*time.Minute)
	for _, m := range s.Get(t).Status.Members {
		if got := c.Filled(t, s.Address(m.Node)); got != "3" {
			t.Errorf("%s has %s of 3 keys", m.Node, got)
		}
	}
}

// L6: the primary's volume is full. Writes fail, status says so and why, and all is well once there is room.
func TestL6FullVolume(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "l6")
	s := e.Start(t, ns, framework.Options{Name: "main", Mode: v1alpha1.FailoverModeOperator, Persistent: true})
	c := e.Client(t, ns)
	node := s.Primary(t)
	pod, err := s.Pod(t, node)
	if err != nil {
		t.Fatal(err)
	}
	grow := e.SmallVolume(t, ns, naming.NodeClaim(node), 16)
	e.DeletePod(t, ns, pod.Name, 0)
	framework.Eventually(t, time.Minute, "the pod is another one", func() error {
		now, err := s.Pod(t, node)
		if err == nil && (now.UID == pod.UID || !framework.PodReady(now)) {
			err = fmt.Errorf("not yet")
		}
		return err
	})
	framework.Eventually(t, time.Minute, "writes are refused", func() error {
		_, err := c.TryFill(t, s.PrimaryAddress(), 1000)
		if err == nil || !strings.Contains(err.Error(), "MISCONF") {
			return errors.Join(errors.New("they are not"), err)
		}
		return nil
	})
	s.WaitCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, v1alpha1.ReasonDiskWriteFailed, 30*time.Second)
	s.WaitCondition(t, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDiskWriteFailed, 30*time.Second)
	framework.Eventually(t, 10*time.Second, "a metric says that writes fail", func() error {
		metrics := framework.Kubectl(t, "get", "--raw", "/api/v1/namespaces/"+naming.SystemNamespace+"/pods/"+e.ControllerPod(t).Name+":8080/proxy/metrics")
		want := fmt.Sprintf(`valkey_condition{condition="Ready",kind="Valkey",object_name="main",object_namespace=%q,status="False"} 1`, ns)
		if !strings.Contains(metrics, want) {
			return errors.New(metrics)
		}
		return nil
	})
	grow()
	s.WaitReady(t, time.Minute)
	c.Must(t, s.PrimaryAddress(), "SET", "after", "1")
}
