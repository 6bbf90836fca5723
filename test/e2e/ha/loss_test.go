// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2eha

package ha

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	watchtools "k8s.io/client-go/tools/watch"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const (
	system    = "valkey-system"
	apiServer = "app.kubernetes.io/name=valkey-apiserver"
)

// kept makes a Valkey without pods to speak of, whose record the tests ask for.
func kept(t *testing.T, env *framework.Env, namespace string) {
	t.Helper()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := env.Valkey.ValkeyV1alpha1().Valkeys(namespace).Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, env *framework.Env, namespace string, o framework.TrafficOptions) *framework.Traffic {
	t.Helper()
	traffic := framework.NewTraffic(t, env.Config, namespace, "kept", o)
	more(t, traffic, 100)
	return traffic
}

func more(t *testing.T, traffic *framework.Traffic, count int) {
	t.Helper()
	before := traffic.Answered()
	framework.Eventually(t, time.Minute, fmt.Sprintf("%d requests", count), func() error {
		if answered := traffic.Answered() - before; answered < count {
			return fmt.Errorf("%d", answered)
		}
		return nil
	})
}

func pods(t *testing.T, env *framework.Env, selector string) []corev1.Pod {
	t.Helper()
	list, err := env.Kube.CoreV1().Pods(system).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// Scenarios P11 and P12: a rolling restart of the API servers, under requests and watches.
func TestP12RollingRestartWithoutAFailedRequest(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "rolling")
	kept(t, env, namespace)
	valkeys := env.Valkey.ValkeyV1alpha1().Valkeys(namespace)
	list, err := valkeys.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := watchtools.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return valkeys.Watch(ctx, o) },
	})
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan string, 100)
	go func() {
		for event := range watcher.ResultChan() {
			if object, is := event.Object.(*v1alpha1.Valkey); is && event.Type == watch.Added {
				added <- object.Name
			}
		}
		close(added)
	}()
	// As every client of client-go is, and as few are: asked to come again, it does not.
	clients := begin(t, env, namespace, framework.TrafficOptions{Retries: 10, Writes: true})
	strict := begin(t, env, namespace, framework.TrafficOptions{Clients: 2})

	framework.Kubectl(t, "-n", system, "rollout", "restart", "deployment/valkey-apiserver")
	framework.Kubectl(t, "-n", system, "rollout", "status", "deployment/valkey-apiserver", "--timeout=180s")
	framework.Eventually(t, time.Minute, "the old pods are gone", func() error {
		if found := len(pods(t, env, apiServer)); found != 3 {
			return fmt.Errorf("%d pods", found)
		}
		return nil
	})
	more(t, clients, 100)
	if refused := clients.End(t); refused > 0 {
		t.Errorf("%d requests failed", refused)
	}
	t.Logf("without a second attempt %d would have failed", strict.End(t))

	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "after"}}
	if _, err := valkeys.Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case name := <-added:
		if name != "after" {
			t.Errorf("the watch was told again of %s", name)
		}
	case <-time.After(30 * time.Second):
		t.Error("the watch did not go on")
	}
	watcher.Stop()
	for name := range added {
		t.Errorf("the watch was told of %s", name)
	}
}

// Scenario P2 with several members: one of them is lost, the one that leads too.
func TestP2OneEtcdMemberIsKilled(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "member")
	kept(t, env, namespace)
	for i := range 3 {
		name := fmt.Sprintf("valkey-etcd-%d", i)
		traffic := begin(t, env, namespace, framework.TrafficOptions{Retries: 10, Writes: true})
		now := int64(0)
		if err := env.Kube.CoreV1().Pods(system).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Fatal(err)
		}
		more(t, traffic, 300)
		framework.Eventually(t, 2*time.Minute, name+" is back", func() error {
			pod, err := env.Kube.CoreV1().Pods(system).Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && !framework.PodReady(pod) {
				err = fmt.Errorf("not ready")
			}
			return err
		})
		more(t, traffic, 100)
		t.Logf("%s killed: %d requests refused", name, traffic.End(t))
	}
}

// A machine with an API server and an etcd member is cut off: until the cluster notices, its share of the requests has no answer; none is wrong.
func TestAnAPIServersNodeIsCut(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "cut")
	kept(t, env, namespace)
	traffic := begin(t, env, namespace, framework.TrafficOptions{Writes: true, Patience: 5 * time.Second})
	node := pods(t, env, apiServer)[0].Spec.NodeName
	heal := framework.Cut(t, node)
	cut := time.Now()
	framework.Eventually(t, 3*time.Minute, "no request was refused for 15s, "+node+" being cut", func() error {
		if quiet := traffic.QuietFor(); quiet < 15*time.Second || time.Since(cut) < 20*time.Second {
			return fmt.Errorf("the last one %s ago", quiet)
		}
		return nil
	})
	t.Logf("whole again %s after the cut", (time.Since(cut) - traffic.QuietFor()).Round(time.Second))
	more(t, traffic, 200)
	heal()
	t.Logf("%d requests refused", traffic.End(t))
	framework.Eventually(t, 3*time.Minute, "three API servers again", func() error {
		ready := 0
		for _, pod := range pods(t, env, apiServer) {
			if framework.PodReady(&pod) && pod.DeletionTimestamp == nil {
				ready++
			}
		}
		if ready != 3 {
			return fmt.Errorf("%d", ready)
		}
		return nil
	})
}
