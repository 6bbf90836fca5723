//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// fleet applies Valkeys fleet-0, fleet-1, …
func fleet(t *testing.T, namespace string, count int, spec string) {
	t.Helper()
	var manifest strings.Builder
	for i := range count {
		fmt.Fprintf(&manifest, "apiVersion: valkey.io/v1alpha1\nkind: Valkey\nmetadata: {name: fleet-%d}\nspec: %s\n---\n", i, spec)
	}
	framework.Apply(t, namespace, manifest.String())
}

// waitFleet waits until so many Valkeys are as asked.
func waitFleet(t *testing.T, e *framework.Env, namespace, what string, count int, patience time.Duration, isSo func(*v1alpha1.Valkey) bool) {
	t.Helper()
	framework.Eventually(t, patience, fmt.Sprintf("%d Valkeys are %s", count, what), func() error {
		list, err := e.Valkey.ValkeyV1alpha1().Valkeys(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		so := 0
		for i := range list.Items {
			if isSo(&list.Items[i]) {
				so++
			}
		}
		if so != count {
			return fmt.Errorf("%d are", so)
		}
		return nil
	})
}

// K2: while nothing happens to twenty Valkeys the controller writes nothing.
func TestK2IdleControllerWritesNothing(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "idle")
	const count, idle, settled = 20, time.Minute, 15 * time.Second
	fleet(t, ns, count, "{replicas: 0, failover: {mode: Operator}}")
	waitFleet(t, e, ns, "ready", count, 5*time.Minute, func(vk *v1alpha1.Valkey) bool { return vk.Status.State == v1alpha1.StateReady })
	framework.Eventually(t, 2*time.Minute, "the controller has nothing left to write", func() error {
		if writes := writesOfOurs(t, time.Now().Add(-settled)); len(writes) > 0 {
			return fmt.Errorf("%v", writes)
		}
		return nil
	})
	begin := time.Now()
	time.Sleep(idle) // the idle time itself
	if writes := writesOfOurs(t, begin); len(writes) > 0 {
		t.Errorf("%d writes while nothing happened: %v", len(writes), writes)
	}
}

// writesOfOurs are the controller's writes since a time, from kube-apiserver's audit log; its lease is not one.
func writesOfOurs(t *testing.T, since time.Time) []string {
	t.Helper()
	log, err := os.Open(filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "logs", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var writes []string
	seen := false
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditv1.Event
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.User.Username != "system:serviceaccount:"+naming.SystemNamespace+":valkey-controller" {
			continue
		}
		seen = true
		lease := event.ObjectRef != nil && event.ObjectRef.Resource == "leases"
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection", "apply":
			if !lease && event.RequestReceivedTimestamp.After(since) {
				writes = append(writes, event.Verb+" "+event.RequestURI)
			}
		}
	}
	if err := lines.Err(); err != nil || !seen {
		t.Fatalf("the audit log tells nothing of the controller: %v", err)
	}
	return writes
}

// K3: Valkeys whose pods find no machine hold up no other one, and take no memory while they wait.
func TestK3PendingFleet(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "pending")
	const count = 100
	fleet(t, ns, count, "{replicas: 0, scheduling: {nodeSelector: {no-such: machine}}}")
	waitFleet(t, e, ns, "named as unschedulable", count, 5*time.Minute, func(vk *v1alpha1.Valkey) bool {
		return strings.Contains(vk.Status.Message, corev1.PodReasonUnschedulable)
	})
	before := controllerMemory(t, e)
	other := e.Namespace(t, "beside")
	began := time.Now()
	e.Start(t, other, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator})
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("beside %d that wait, a Valkey is ready after %s", count, took)
	}
	time.Sleep(time.Minute) // the waiting itself
	after := controllerMemory(t, e)
	t.Logf("resident memory of the controller beside %d pending Valkeys: %d KiB, a minute later %d KiB", count, before, after)
	if after > before*5/4 {
		t.Errorf("the controller's memory grew from %d to %d KiB while nothing happened", before, after)
	}
}

// controllerMemory is the resident memory of the controller's process in KiB.
func controllerMemory(t *testing.T, e *framework.Env) int {
	t.Helper()
	id := strings.TrimPrefix(e.ControllerPod(t).Status.ContainerStatuses[0].ContainerID, "containerd://")
	processes, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range processes {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), id) {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if err != nil {
			continue
		}
		var kib int
		if _, after, found := strings.Cut(string(status), "VmRSS:"); found {
			if _, err := fmt.Sscan(after, &kib); err == nil {
				return kib
			}
		}
	}
	t.Fatalf("no process of container %s", id)
	return 0
}
