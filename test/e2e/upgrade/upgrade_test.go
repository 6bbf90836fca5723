//go:build e2eupgrade

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"maps"
	"os/exec"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// G10: instances with volumes, made with an earlier revision of the product that hack/e2e.sh has installed, live through the upgrade to this one. No
// pod and no volume is replaced for it, nothing that the product asks for is forbidden, and all that people do to their data goes on: also while
// the agents in the pods are partly the old ones.
func TestUpgradeOfInstancesWithVolumes(t *testing.T) {
	e := framework.Connect(t)
	monitored := e.Start(t, e.Namespace(t, "monitored"), framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Persistent: true})
	operated := e.Start(t, e.Namespace(t, "operated"), framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, Persistent: true})
	c := e.Client(t, monitored.Namespace)
	for _, s := range []*framework.Set{monitored, operated} {
		if out := e.Client(t, s.Namespace).Must(t, s.PrimaryAddress(), "SET", "before", "the upgrade"); out != "OK" {
			t.Fatal(out)
		}
	}
	before := []map[string]types.UID{parts(t, monitored), parts(t, operated)}
	began := time.Now()
	monitored.Planned(t, c, "upgrade", monitored.ViaSentinel(), func() {
		install(t)
		// A change shows that the new controller works, and has looked at every node.
		monitored.Patch(t, `{"spec":{"config":{"maxmemory-policy":"allkeys-lru"}}}`)
		operated.Patch(t, `{"spec":{"config":{"maxmemory-policy":"allkeys-lru"}}}`)
		operated.WaitReady(t, 2*time.Minute)
	})
	for i, s := range []*framework.Set{monitored, operated} {
		if after := parts(t, s); !maps.Equal(before[i], after) {
			t.Errorf("%s: something was replaced: %v, then %v", s.Namespace, before[i], after)
		}
	}

	monitored.Planned(t, c, "handover", monitored.ViaSentinel(), func() { monitored.Failover(t, v1alpha1.FailoverRequestSpec{}) })
	for _, s := range []*framework.Set{monitored, operated} {
		pod, err := s.Pod(t, s.Replica(t))
		if err != nil {
			t.Fatal(err)
		}
		e.DeletePod(t, s.Namespace, pod.Name, 0)
		s.WaitReady(t, 3*time.Minute)
	}
	operated.Failover(t, v1alpha1.FailoverRequestSpec{})
	monitored.Planned(t, c, "roll", monitored.ViaSentinel(), func() {
		monitored.Patch(t, `{"spec":{"config":{"tcp-backlog":"256"}}}`)
		monitored.WaitReady(t, 5*time.Minute)
	})
	for _, s := range []*framework.Set{monitored, operated} {
		if out := e.Client(t, s.Namespace).Must(t, s.PrimaryAddress(), "GET", "before"); out != "the upgrade" {
			t.Errorf("%s: what was written before is %q", s.Namespace, out)
		}
	}
	if refused := framework.Forbidden(t, began); len(refused) > 0 {
		t.Errorf("%d requests were forbidden: %v", len(refused), refused)
	}
}

// install puts this revision in the place of the other one.
func install(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../../..", "images", "deploy")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// parts are the UIDs of a set's pods, with those of its Sentinels, and claims.
func parts(t *testing.T, s *framework.Set) map[string]types.UID {
	t.Helper()
	uids := map[string]types.UID{}
	pods, err := s.Env.Kube.CoreV1().Pods(s.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: naming.LabelManagedBy + "=" + naming.ManagedBy})
	if err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning {
			uids["pod "+pods.Items[i].Name] = pods.Items[i].UID
		}
	}
	for name, uid := range s.Claims(t) {
		uids["claim "+name] = uid
	}
	return uids
}
