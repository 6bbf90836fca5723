//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// A9: the Sentinels exist before any pod of the Valkey can be scheduled.
func TestSentinelsBeforeThePods(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "early")
	framework.Apply(t, ns, framework.SentinelManifest("watch"))
	framework.Apply(t, ns, framework.Options{
		Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, Extra: "  scheduling: {nodeSelector: {not: there}}\n",
	}.Manifest())
	s := &framework.Set{Env: e, Namespace: ns, Name: "main", Sentinel: "watch", Sentinels: 3}
	c := e.Client(t, ns)
	framework.Eventually(t, 2*time.Minute, "three Sentinels are ready", func() error {
		set, err := e.Valkey.ValkeyV1alpha1().ValkeySentinels(ns).Get(t.Context(), "watch", metav1.GetOptions{})
		if err == nil && set.Status.ReadyReplicas != 3 {
			err = fmt.Errorf("%d ready: %s", set.Status.ReadyReplicas, set.Status.Message)
		}
		return err
	})
	framework.Eventually(t, 30*time.Second, "status says that the pods cannot be scheduled", func() error {
		vk := s.Get(t)
		if text := vk.Status.Message; !strings.Contains(strings.ToLower(text), "schedul") && !strings.Contains(text, "node") {
			return fmt.Errorf("%s: %s", vk.Status.Reason, text)
		}
		return nil
	})
	for _, addr := range s.SentinelAddresses() {
		// The names of pods that have just become ready may take a moment to be known to the cluster's DNS.
		framework.Eventually(t, 15*time.Second, addr+" answers", func() error {
			if found, err := c.Find(t, []string{addr}, s.Name); err == nil {
				t.Fatalf("%s says %s", addr, found)
			}
			return c.HoldsNoMonitor(t, addr, s.Name)
		})
	}
	framework.Kubectl(t, "patch", "valkey", "main", "-n", ns, "--type=merge", "-p", `{"spec":{"scheduling":{"nodeSelector":null}}}`)
	s.WaitReady(t, 2*time.Minute)
}

// One Sentinel set watches several Valkeys.
func TestOneSentinelSetThreeValkeys(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "three")
	framework.Apply(t, ns, framework.SentinelManifest("watch"))
	var sets []*framework.Set
	for _, name := range []string{"one", "two", "three"} {
		framework.Apply(t, ns, framework.Options{Name: name, Replicas: 1, Mode: v1alpha1.FailoverModeSentinel}.Manifest())
		sets = append(sets, &framework.Set{Env: e, Namespace: ns, Name: name, Sentinel: "watch", Sentinels: 3})
	}
	for _, s := range sets {
		s.WaitReady(t, 3*time.Minute)
	}
	before := []string{sets[0].Primary(t), sets[1].Primary(t), sets[2].Primary(t)}
	if _, err := e.Valkey.ValkeyV1alpha1().ValkeySentinels(ns).Failover(t.Context(), "watch", &v1alpha1.Failover{}, metav1.CreateOptions{}); err == nil || !strings.Contains(err.Error(), "spec.valkey") {
		t.Errorf("a failover that names none of three Valkeys: %v", err)
	}
	var answer *v1alpha1.Failover
	sets[1].Planned(t, e.Client(t, ns), "three", sets[1].ViaSentinel(), func() {
		var err error
		answer, err = e.Valkey.ValkeyV1alpha1().ValkeySentinels(ns).Failover(t.Context(), "watch", &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{Valkey: "two"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	})
	framework.Eventually(t, 20*time.Second, "two has changed its primary", func() error {
		if now := sets[1].Primary(t); now != answer.Status.To || now == before[1] {
			return fmt.Errorf("it is %s", now)
		}
		return nil
	})
	for i, s := range sets {
		s.WaitReady(t, time.Minute)
		if i != 1 && s.Primary(t) != before[i] {
			t.Errorf("%s changed its primary too", s.Name)
		}
	}
}

// L14: always exactly one primary, whatever the number of replicas.
func TestZeroToFiveReplicas(t *testing.T) {
	t.Parallel()
	for _, mode := range []v1alpha1.FailoverMode{v1alpha1.FailoverModeOperator, v1alpha1.FailoverModeSentinel} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			zeroToFiveReplicas(t, mode)
		})
	}
}

func zeroToFiveReplicas(t *testing.T, mode v1alpha1.FailoverMode) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "sizes")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 0, Mode: mode})
	c := e.Client(t, ns)
	password := s.SystemPassword(t, naming.UserOperator)
	c.Must(t, s.PrimaryAddress(), "SET", "kept", "1")
	for _, replicas := range []int{1, 2, 3, 4, 5, 0} {
		framework.Kubectl(t, "patch", "valkey", "main", "-n", ns, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
		s.WaitReady(t, 3*time.Minute)
		primaries := 0
		for _, m := range s.Get(t).Status.Members {
			role, err := roleOf(t, s, c, m.Node, password)
			if err != nil {
				t.Error(err)
			}
			if role == "master" {
				primaries++
			}
		}
		if members := len(s.Get(t).Status.Members); primaries != 1 || members != replicas+1 {
			t.Errorf("%d replicas: %d members, %d primaries", replicas, members, primaries)
		}
	}
	if got := c.Must(t, s.PrimaryAddress(), "GET", "kept"); got != "1" {
		t.Errorf("the data are gone: %q", got)
	}
}

// K4: a namespace is deleted with the controller running, and with the controller at zero.
func TestNamespaceDeletion(t *testing.T) {
	e := framework.Connect(t)
	for _, controllers := range []int32{1, 0} {
		t.Run(fmt.Sprintf("%d controllers", controllers), func(t *testing.T) {
			ns := e.Namespace(t, "gone")
			e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
			if controllers == 0 {
				e.ScaleController(t, 0)
			}
			e.DeleteNamespace(t, ns, 2*time.Minute)
			if controllers == 0 {
				e.ScaleController(t, 1)
			}
		})
	}
}

// K7: the controller has no right on PodDisruptionBudgets. Everything else works, and a condition says so.
func TestK7NoRightOnBudgets(t *testing.T) {
	e := framework.Connect(t)
	role, err := e.Kube.RbacV1().ClusterRoles().Get(t.Context(), "valkey-controller", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	less := role.DeepCopy()
	less.Rules = slices.DeleteFunc(less.Rules, func(rule rbacv1.PolicyRule) bool { return slices.Contains(rule.APIGroups, "policy") })
	if len(less.Rules) != len(role.Rules)-1 {
		t.Fatalf("%d rules of %d are left", len(less.Rules), len(role.Rules))
	}
	give := func(rules []rbacv1.PolicyRule) {
		now, err := e.Kube.RbacV1().ClusterRoles().Get(context.WithoutCancel(t.Context()), role.Name, metav1.GetOptions{})
		if err == nil {
			now.Rules = rules
			_, err = e.Kube.RbacV1().ClusterRoles().Update(context.WithoutCancel(t.Context()), now, metav1.UpdateOptions{})
		}
		if err != nil {
			t.Error(err)
		}
	}
	restart := func() { e.ScaleController(t, 0); e.ScaleController(t, 1) }
	t.Cleanup(func() { give(role.Rules) })
	give(less.Rules)
	restart()
	ns := e.Namespace(t, "k7")
	framework.Apply(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator}.Manifest())
	s := &framework.Set{Env: e, Namespace: ns, Name: "main"}
	c := e.Client(t, ns)
	waitServed(t, s)
	c.Must(t, s.PrimaryAddress(), "SET", "a", "1")
	s.WaitCondition(t, v1alpha1.ConditionDegraded, metav1.ConditionTrue, "PodDisruptionBudget", 30*time.Second)
	give(role.Rules)
	s.WaitReady(t, 2*time.Minute)
}

// K4: the controller itself runs in the namespace that is deleted.
func TestNamespaceDeletionWithTheControllerInIt(t *testing.T) {
	e := framework.Connect(t)
	e.ScaleController(t, 0)
	ns := e.Namespace(t, "home")
	framework.Apply(t, "", controllerIn(t, ns))
	t.Cleanup(func() {
		framework.Kubectl(t, "delete", "clusterrolebinding", ns)
		framework.Kubectl(t, "delete", "rolebinding", ns, "-n", "valkey-system")
	})
	e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	e.DeleteNamespace(t, ns, 2*time.Minute)
}

// controllerIn is the controller's manifest for another namespace; its rights where the product is installed are bound to it as well.
func controllerIn(t *testing.T, namespace string) string {
	t.Helper()
	var moved []string
	for _, document := range strings.Split(framework.Kubectl(t, "kustomize", "../../artifacts/deploy/controller"), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		switch object.GetKind() {
		case "Deployment", "ServiceAccount":
			object.SetNamespace(namespace)
		case "ClusterRoleBinding", "RoleBinding":
			object.SetName(namespace)
			subject := map[string]any{"kind": "ServiceAccount", "name": "valkey-controller", "namespace": namespace}
			object.Object["subjects"] = []any{subject}
		default:
			continue
		}
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		moved = append(moved, string(text))
	}
	return strings.Join(moved, "---\n")
}

// P1: while no API pod runs, the rest of the cluster works; a namespace that waits for it ends soon after its return.
func TestAPIServerAway(t *testing.T) {
	e := framework.Connect(t)
	e.ScaleAPIServer(t, 0)
	ctx := t.Context()
	framework.Kubectl(t, "get", "pods", "-n", "valkey-system")
	ns, err := e.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "unrelated-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Kube.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = e.Valkey.ValkeyV1alpha1().Valkeys("default").List(context.WithoutCancel(ctx), metav1.ListOptions{})
	if err == nil {
		t.Error("a list was answered while no API server runs")
	}
	framework.Kubectl(t, "get", "pods", "-A")
	e.ScaleAPIServer(t, 1)
	e.DeleteNamespace(t, ns.Name, 30*time.Second)
}
