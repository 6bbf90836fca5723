// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

func pod(name, node string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: naming.NodeLabels("cache", node)}}
	p.Spec.NodeName, p.Status.Phase = "machine", corev1.PodRunning
	if change != nil {
		change(p)
	}
	return p
}

func TestWhatMattersOfPods(t *testing.T) {
	now := metav1.Now()
	kube := fake.NewClientset(
		pod("valkey-cache-0-0", "cache-0", func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 2}, {RestartCount: 1}}
		}),
		pod("valkey-cache-1-0", "cache-1", func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		}),
		pod("valkey-cache-2-0", "cache-2", func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &now, []string{"test/kept"} }),
		pod("elsewhere", "other-0", func(p *corev1.Pod) { p.Labels[naming.LabelValkey] = "other" }),
	)
	got, err := (&Clients{Kube: kube, Namespace: "ns"}).podsOf(t.Context(), "cache", "")
	want := []Pod{
		{Name: "valkey-cache-0-0", Node: "cache-0", Machine: "machine", Phase: "Running", Ready: true, Restarts: 3},
		{Name: "valkey-cache-1-0", Node: "cache-1", Machine: "machine", Phase: "CrashLoopBackOff"},
		{Name: "valkey-cache-2-0", Node: "cache-2", Machine: "machine", Phase: "Terminating"},
	}
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %+v, %v", got, err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
}

func TestThePodOfANode(t *testing.T) {
	now := metav1.Now()
	kube := fake.NewClientset(
		pod("valkey-cache-0-old", "cache-0", func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = &now, []string{"test/kept"} }),
		pod("valkey-cache-0-new", "cache-0", nil),
	)
	clients := &Clients{Kube: kube, Namespace: "ns"}
	if got, err := clients.PodOfNode(t.Context(), "cache-0"); err != nil || got != "valkey-cache-0-new" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := clients.PodOfNode(t.Context(), "cache-9"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v", err)
	}
	kube.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))
	})
	if got, err := clients.PodOfNode(t.Context(), "cache-9"); err != nil || got != "valkey-cache-9-0" {
		t.Errorf("without the right to list pods: %s, %v", got, err)
	}
}

// Where nobody lets the caller connect to a pod, the agent is asked through the API server's proxy.
func TestAgentsAreAskedThroughTheProxyToo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pods/p-0:8379/proxy/bootz") {
			_, _ = io.WriteString(w, `{"name":"cache-0","phase":"Running"}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not you","code":403}`)
	}))
	t.Cleanup(server.Close)
	clients, err := Connect(&rest.Config{Host: server.URL}, "ns", "test")
	if err != nil {
		t.Fatal(err)
	}
	report, err := clients.BootReport(t.Context(), "p-0")
	if err != nil || report.Name != "cache-0" || report.Phase != "Running" {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := clients.BootReport(t.Context(), "p-1"); err == nil || !strings.Contains(err.Error(), "not you") {
		t.Errorf("got %v", err)
	}
}
