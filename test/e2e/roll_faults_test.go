//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// bump is a change that replaces every pod.
const bump = `{"spec":{"podAnnotations":{"bumped":"%s"}}}`

// G3: while the controller cannot reach a pod's server the roll waits and says why; the primary moves once.
func TestG3RollWithAServerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "g3")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second})
	c := e.Client(t, ns)
	before, replica, primary := podUIDs(t, s), s.Replica(t), s.Primary(t)
	unblock := s.BlockController(t, replica, naming.PortValkey)
	framework.Eventually(t, time.Minute, "the controller cannot reach "+replica, func() error {
		if s.Ready(t) == nil {
			return fmt.Errorf("all is well")
		}
		return nil
	})
	s.Planned(t, c, "g3", s.ViaSentinel(), func() {
		s.Patch(t, fmt.Sprintf(bump, "g3"))
		s.WaitCondition(t, v1alpha1.ConditionProgressing, metav1.ConditionTrue, replica, time.Minute)
		held := time.Now()
		for time.Since(held) < 10*time.Second { // the waiting itself is what is looked at
			if now := podUIDs(t, s); now[primary] != before[primary] || now[replica] != before[replica] || s.Primary(t) != primary {
				t.Fatalf("the roll went on: %s", s.Get(t).Status.Message)
			}
			time.Sleep(500 * time.Millisecond)
		}
		unblock()
		waitOthers(t, s, before, 4*time.Minute)
	})
	expectOneSwitch(t, s, primary)
}

// G11: the primary's machine is cordoned while the Valkey is rolled. Its pod cannot come back there, and the primary moves once.
func TestG11RollWithACordonedPrimary(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "g11")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Persistent: true})
	c := e.Client(t, ns)
	before, primary := podUIDs(t, s), s.Primary(t)
	pod, err := s.Pod(t, primary)
	if err != nil {
		t.Fatal(err)
	}
	s.Planned(t, c, "g11", s.ViaSentinel(), func() {
		uncordon := cordon(t, pod.Spec.NodeName)
		s.Patch(t, fmt.Sprintf(bump, "g11"))
		framework.Eventually(t, 4*time.Minute, "the pod of "+primary+" waits for its machine", func() error {
			now, err := s.Pod(t, primary)
			if err == nil && (string(now.UID) == before[primary] || now.Spec.NodeName != "" || now.Status.Phase != corev1.PodPending) {
				err = fmt.Errorf("%s: %s", now.Status.Phase, s.Get(t).Status.Message)
			}
			return err
		})
		framework.Eventually(t, time.Minute, "status says which node is missing", func() error {
			if status := s.Get(t).Status; status.Primary == primary || !strings.Contains(status.Message, primary) {
				return fmt.Errorf("primary %s, %s: %s", status.Primary, status.State, status.Message)
			}
			return nil
		})
		uncordon()
		waitOthers(t, s, before, 4*time.Minute)
	})
	expectOneSwitch(t, s, primary)
}

// cordon keeps new pods off a machine until the function that it returns is called, or the test ends.
func cordon(t *testing.T, machine string) (uncordon func()) {
	t.Helper()
	framework.Kubectl(t, "cordon", machine)
	uncordon = sync.OnceFunc(func() { framework.Kubectl(t, "uncordon", machine) })
	t.Cleanup(uncordon)
	return uncordon
}

// expectOneSwitch counts how often the primary has changed since the beginning.
func expectOneSwitch(t *testing.T, s *framework.Set, from string) {
	t.Helper()
	list, err := s.Env.Kube.CoreV1().Events(s.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=" + v1alpha1.EventPrimaryChanged})
	if err != nil {
		t.Fatal(err)
	}
	var switches []string
	for i := range list.Items {
		switches = append(switches, list.Items[i].Message)
	}
	if last := s.Get(t).Status.LastFailover; len(switches) != 1 || last == nil || last.From != from {
		t.Errorf("the primary changed %d times: %v; last %+v", len(switches), switches, last)
	}
}
