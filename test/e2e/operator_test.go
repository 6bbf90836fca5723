//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// C1: the primary is deleted and kept from returning, once in each mode, without Sentinels. With it D4, F4, F5, K6, L1 and L3.
func TestC1LostPrimaryInEachMode(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "c1")
	sets := map[v1alpha1.FailoverMode]*framework.Set{}
	for name, o := range map[string]framework.Options{
		"operator": {Mode: v1alpha1.FailoverModeOperator, Replicas: 2, DownAfter: 3 * time.Second},
		"sentinel": {Mode: v1alpha1.FailoverModeSentinel, Replicas: 1},
		"none":     {Mode: v1alpha1.FailoverModeNone, Replicas: 1},
	} {
		o.Name = name
		framework.Apply(t, ns, o.Manifest())
		sets[o.Mode] = &framework.Set{Env: e, Namespace: ns, Name: name}
	}
	c := e.Client(t, ns)
	for _, s := range sets {
		waitServed(t, s)
		c.Must(t, s.PrimaryAddress(), "SET", "before", "1")
		c.Must(t, s.PrimaryAddress(), "WAIT", "1", "5000")
	}
	operator, unmonitored, none := sets[v1alpha1.FailoverModeOperator], sets[v1alpha1.FailoverModeSentinel], sets[v1alpha1.FailoverModeNone]
	none.WaitCondition(t, v1alpha1.ConditionConfigurationWarning, metav1.ConditionTrue, v1alpha1.ReasonUnwiseConfiguration, 10*time.Second)
	t.Run("the replicas Service (F4)", func(t *testing.T) { replicasServiceHoldsReplicas(t, operator) })
	t.Run("one eviction at a time (L3)", func(t *testing.T) { oneEvictionAtATime(t, operator) })
	t.Run("killed without a successor by design (D4)", func(t *testing.T) { killedInModeNone(t, none, c) })

	old := map[string]string{}
	for _, s := range sets {
		old[s.Name] = s.Primary(t)
	}
	allow := noNewPods(t, e, ns)
	route := []string{"-addr", operator.PrimaryAddress()}
	ledger := c.Ledger(t, "c1", route...)
	for _, s := range sets {
		s.CrashPod(t, old[s.Name])
	}
	t.Run("mode Operator promotes", func(t *testing.T) { promotedByTheController(t, operator, c, old[operator.Name]) })
	t.Run("mode None: a person", func(t *testing.T) {
		none.WaitCondition(t, v1alpha1.ConditionPrimaryElected, metav1.ConditionFalse, `subresource "failover"`, 30*time.Second)
		stillReplica(t, none, c, old[none.Name])
		forced(t, none, c, old[none.Name])
	})
	t.Run("mode Sentinel without Sentinels: nobody", func(t *testing.T) {
		unmonitored.WaitCondition(t, v1alpha1.ConditionMonitored, metav1.ConditionFalse, v1alpha1.ReasonNotSelected, 10*time.Second)
		unmonitored.WaitCondition(t, v1alpha1.ConditionPrimaryElected, metav1.ConditionFalse, "", 30*time.Second)
		stillReplica(t, unmonitored, c, old[unmonitored.Name])
	})
	t.Run("nothing is scaled (K6)", func(t *testing.T) {
		for _, s := range sets {
			if members, want := len(s.Get(t).Status.Members), int(s.Get(t).Spec.Replicas)+1; members != want {
				t.Errorf("%s has %d members, not %d", s.Name, members, want)
			}
		}
	})
	allow()
	operator.WaitReady(t, 2*time.Minute)
	summary := ledger.Close(t, operator)
	if summary.LostWithinMillis > framework.Unreplicated.Milliseconds() {
		t.Errorf("writes are lost that were %d ms old at the crash", summary.LostWithinMillis)
	}
	// Without a volume it comes back empty, and stands back for its replica by itself.
	for _, s := range []*framework.Set{none, unmonitored} {
		waitServed(t, s)
		if got := c.Must(t, s.PrimaryAddress(), "GET", "before"); got != "1" {
			t.Errorf("%s: the data are gone: %q", s.Name, got)
		}
	}
}

// waitServed waits until the write Service leads to a primary and every replica is in sync, whatever the state says of who monitors it.
func waitServed(t *testing.T, s *framework.Set) {
	t.Helper()
	framework.Eventually(t, 3*time.Minute, s.Name+" is served", func() error {
		vk := s.Get(t)
		pods, err := readyEndpoints(t.Context(), s)
		if err != nil {
			return err
		}
		if st := vk.Status; st.SyncedReplicas != vk.Spec.Replicas || st.ReadyReplicas != vk.Spec.Replicas+1 || !slices.Equal(pods, []string{naming.NodePod(st.Primary)}) {
			return fmt.Errorf("%d synced, %d ready, the write Service leads to %v: %s: %s", st.SyncedReplicas, st.ReadyReplicas, pods, st.Reason, st.Message)
		}
		return nil
	})
}

// noNewPods keeps the namespace from getting another pod until the function that it returns is called.
func noNewPods(t *testing.T, e *framework.Env, ns string) (allow func()) {
	t.Helper()
	quotas := e.Kube.CoreV1().ResourceQuotas(ns)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-new-pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, 30*time.Second, "the quota is counted", func() error {
		now, err := quotas.Get(t.Context(), quota.Name, metav1.GetOptions{})
		if used := now.Status.Used[corev1.ResourcePods]; err == nil && used.Value() < 2 {
			err = fmt.Errorf("%s pods used", used.String())
		}
		return err
	})
	return func() {
		if err := quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

func promotedByTheController(t *testing.T, s *framework.Set, c *framework.Client, old string) {
	framework.Eventually(t, 30*time.Second, "another node is primary", func() error {
		if now := s.Primary(t); now == old {
			return fmt.Errorf("it is still %s", now)
		}
		return nil
	})
	if last := s.Get(t).Status.LastFailover; last == nil || last.From != old || last.Cause != v1alpha1.FailoverCauseOperator {
		t.Errorf("lastFailover is %+v", last)
	}
	framework.Eventually(t, 10*time.Second, "an event names the offsets", func() error {
		out := framework.Kubectl(t, "get", "events", "-n", s.Namespace, "--field-selector=reason="+v1alpha1.EventPromoted, "-o", "jsonpath={.items[*].message}")
		if !strings.Contains(out, "offset") || !strings.Contains(out, old) {
			return fmt.Errorf("events: %q", out)
		}
		return nil
	})
	framework.Eventually(t, 15*time.Second, "a plain client writes through the write Service again (F5)", func() error {
		_, err := c.Do(t, s.PrimaryAddress(), "SET", "after", "1")
		return err
	})
	replicasServiceHoldsReplicas(t, s)
}

// replicasServiceHoldsReplicas expects the Service for reading to lead to every ready replica and to nobody else.
func replicasServiceHoldsReplicas(t *testing.T, s *framework.Set) {
	t.Helper()
	framework.Eventually(t, 15*time.Second, "the replicas Service leads to the replicas alone", func() error {
		var want, got []string
		status := s.Get(t).Status
		for _, m := range status.Members {
			if m.Synced && m.Node != status.Primary {
				want = append(want, naming.NodePod(m.Node))
			}
		}
		list, err := s.Env.Kube.DiscoveryV1().EndpointSlices(s.Namespace).List(t.Context(), metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=" + naming.ReplicasService(s.Name)})
		if err != nil {
			return err
		}
		for i := range list.Items {
			for _, endpoint := range list.Items[i].Endpoints {
				if *endpoint.Conditions.Ready {
					got = append(got, endpoint.TargetRef.Name)
				}
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			return fmt.Errorf("it leads to %v, the replicas are %v", got, want)
		}
		return nil
	})
}

// oneEvictionAtATime expects the budget over all nodes to allow one eviction, and refuses a second.
func oneEvictionAtATime(t *testing.T, s *framework.Set) {
	framework.Eventually(t, 30*time.Second, "the budget allows one disruption", func() error {
		budget, err := s.Env.Kube.PolicyV1().PodDisruptionBudgets(s.Namespace).Get(t.Context(), naming.ValkeyPDB(s.Name), metav1.GetOptions{})
		if err == nil && budget.Status.DisruptionsAllowed != 1 {
			err = fmt.Errorf("it allows %d", budget.Status.DisruptionsAllowed)
		}
		return err
	})
	evict := func(node string) error {
		return s.Env.Kube.CoreV1().Pods(s.Namespace).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: naming.NodePod(node), Namespace: s.Namespace}})
	}
	first := s.Replica(t)
	if err := evict(first); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Get(t).Status.Members {
		if m.Node == first {
			continue
		}
		if err := evict(m.Node); !apierrors.IsTooManyRequests(err) {
			t.Errorf("a second eviction, of %s: %v", m.Node, err)
		}
		break
	}
	s.WaitReady(t, time.Minute)
}

// killedInModeNone: nobody promotes by himself in this mode, and yet the data must not go with a server that comes back empty.
func killedInModeNone(t *testing.T, s *framework.Set, c *framework.Client) {
	old := s.Primary(t)
	killContainer(t, s, naming.NodePod(old), naming.ContainerServer)
	waitServed(t, s)
	if now := s.Primary(t); now == old {
		t.Errorf("the emptied %s is primary again", old)
	}
	for _, m := range s.Get(t).Status.Members {
		if got := c.Must(t, s.Address(m.Node), "GET", "before"); got != "1" {
			t.Errorf("%s lacks the data: %q", m.Node, got)
		}
	}
}

// stillReplica expects the node that is left to be a replica after more than the time in which mode Operator promotes.
func stillReplica(t *testing.T, s *framework.Set, c *framework.Client, old string) {
	t.Helper()
	password := s.SystemPassword(t, naming.UserOperator)
	for deadline := time.Now().Add(6 * time.Second); time.Now().Before(deadline); time.Sleep(time.Second) { // the time in which nothing may happen
		for _, m := range s.Get(t).Status.Members {
			if m.Node == old {
				continue
			}
			if role, err := roleOf(t, s, c, m.Node, password); err != nil || role != "slave" {
				t.Fatalf("%s says %q, %v", m.Node, role, err)
			}
		}
	}
}

// forced does what the condition says that a person can do.
func forced(t *testing.T, s *framework.Set, c *framework.Client, old string) {
	t.Helper()
	answer := s.Failover(t, v1alpha1.FailoverRequestSpec{Mode: v1alpha1.FailoverForced})
	if answer.From != old {
		t.Errorf("the answer is %+v", answer)
	}
	framework.Eventually(t, 15*time.Second, "it takes writes again", func() error {
		_, err := c.Do(t, s.PrimaryAddress(), "SET", "after", "1")
		return err
	})
}

// L1: a primary alone can be drained, and where the budget is switched off there is none.
func TestL1DrainOfAPrimaryAlone(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "l1")
	s := e.Start(t, ns, framework.Options{Name: "main", Mode: v1alpha1.FailoverModeNone, Persistent: true})
	c := e.Client(t, ns)
	c.Must(t, s.PrimaryAddress(), "SET", "kept", "1")
	pod, err := s.Pod(t, s.Primary(t))
	if err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, 20*time.Second, "the eviction is granted", func() error {
		return e.Kube.CoreV1().Pods(ns).EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: ns}})
	})
	framework.Eventually(t, time.Minute, "the pod is another one", func() error {
		now, err := s.Pod(t, s.Primary(t))
		if err == nil && (now.UID == pod.UID || !framework.PodReady(now)) {
			err = fmt.Errorf("not yet")
		}
		return err
	})
	framework.Eventually(t, 30*time.Second, "the data are there", func() error {
		got, err := c.Do(t, s.PrimaryAddress(), "GET", "kept")
		if err == nil && got != "1" {
			err = fmt.Errorf("GET answered %q", got)
		}
		return err
	})
	s.Patch(t, `{"spec":{"podDisruptionBudget":{"mode":"Disabled"}}}`)
	framework.Eventually(t, 20*time.Second, "the budget is gone", func() error {
		_, err := e.Kube.PolicyV1().PodDisruptionBudgets(ns).Get(t.Context(), naming.ValkeyPDB(s.Name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is there"), err)
	})
}
