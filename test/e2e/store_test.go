// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const (
	systemNamespace = "valkey-system"
	apiServer       = "valkey-apiserver"
	apiServerPods   = "app.kubernetes.io/name=valkey-apiserver"
)

// children are what the garbage collector would take with a Valkey: the UIDs of its pod and of its StatefulSet.
func children(t *testing.T, s *framework.Set) (uids [2]types.UID) {
	t.Helper()
	node := s.Primary(t)
	pod, err := s.Pod(t, node)
	if err != nil {
		t.Fatal(err)
	}
	owner := metav1.GetControllerOf(pod)
	set, err := s.Env.Kube.AppsV1().StatefulSets(s.Namespace).Get(t.Context(), owner.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if set.DeletionTimestamp != nil || pod.DeletionTimestamp != nil {
		t.Fatal("they are being deleted")
	}
	return [2]types.UID{pod.UID, set.UID}
}

// dataDir changes the API server's data directory, and with it the store.
func dataDir(t *testing.T, env *framework.Env, directory string) {
	t.Helper()
	deployments := env.Kube.AppsV1().Deployments(systemNamespace)
	framework.Eventually(t, 30*time.Second, "the store is "+directory, func() error {
		deployment, err := deployments.Get(context.WithoutCancel(t.Context()), apiServer, metav1.GetOptions{})
		if err != nil {
			return err
		}
		args := deployment.Spec.Template.Spec.Containers[0].Args
		for i := range args {
			if strings.HasPrefix(args[i], "--data-dir=") {
				args[i] = "--data-dir=" + directory
			}
		}
		_, err = deployments.Update(context.WithoutCancel(t.Context()), deployment, metav1.UpdateOptions{})
		return err
	})
}

// orphan makes an object whose owner does not exist: when it goes, the garbage collector has looked at everything.
func orphan(t *testing.T, env *framework.Env, namespace string) (isGone func() error) {
	t.Helper()
	maps := env.Kube.CoreV1().ConfigMaps(namespace)
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "never-was", UID: "00000000-0000-0000-0000-000000000001"}
	made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "orphan-", OwnerReferences: []metav1.OwnerReference{owner},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		_, err := maps.Get(t.Context(), made.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	}
}

// Scenarios P2 and P3: with an empty store in place of ours, a garbage collector that begins anew asks for every owner, and deletes nothing.
func TestP3AnEmptyStoreDeletesNothing(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "p3")
	set := env.Start(t, namespace, framework.Options{Name: "kept", Mode: v1alpha1.FailoverModeNone})
	valkeys := env.Valkey.ValkeyV1alpha1().Valkeys(namespace)
	before, uid := children(t, set), set.Get(t).UID
	original := "/var/lib/valkey-apiserver"
	t.Cleanup(func() { dataDir(t, env, original) })
	dataDir(t, env, original+"/empty")
	framework.Eventually(t, 90*time.Second, "the refusal in the log", func() error {
		out, err := framework.TryKubectl(t, "", "-n", systemNamespace, "logs", "-l", apiServerPods, "--tail=-1")
		if err != nil || !strings.Contains(out, "the store is empty, the store on record is") {
			return errors.Join(errors.New("not there"), err)
		}
		return nil
	})
	framework.Cluster(t, "restart", "kube-controller-manager")
	isGone := orphan(t, env, namespace)
	framework.Eventually(t, 2*time.Minute, "the garbage collector has looked", func() error {
		list, err := valkeys.List(t.Context(), metav1.ListOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			t.Fatalf("the empty store answers: %d objects, %v", len(list.Items), err)
		}
		return isGone()
	})
	pod, err := env.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=valkey-controller"})
	if err != nil || len(pod.Items) != 1 || pod.Items[0].UID != before[0] || pod.Items[0].DeletionTimestamp != nil {
		t.Errorf("the pods: %v, %v", pod.Items, err)
	}
	dataDir(t, env, original)
	framework.Eventually(t, 2*time.Minute, "the API is served", func() error {
		_, err := valkeys.List(t.Context(), metav1.ListOptions{})
		return err
	})
	if set.Get(t).UID != uid || children(t, set) != before {
		t.Error("the Valkey, its pod or its StatefulSet is another one")
	}
	if err := valkeys.Delete(t.Context(), "kept", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, 2*time.Minute, "a deletion takes the pods with it", func() error {
		list, err := env.Kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d pods", len(list.Items))
		}
		return err
	})
}

// A backup is restored by the documented way: what was there then is there with its UID, and runs on.
func TestBackupAndRestore(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "restore")
	set := env.Start(t, namespace, framework.Options{Name: "early", Mode: v1alpha1.FailoverModeNone})
	before, uid := children(t, set), set.Get(t).UID
	file := filepath.Join(t.TempDir(), "snapshot.db")
	script := func(name string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, filepath.Join("..", "..", "hack", name), file).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		t.Logf("%s: %s", name, out)
	}
	script("backup.sh")
	valkeys := env.Valkey.ValkeyV1alpha1().Valkeys(namespace)
	if _, err := valkeys.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	script("restore.sh")
	framework.Eventually(t, time.Minute, "the API is served", func() error {
		_, err := valkeys.Get(t.Context(), "late", metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("what is younger than the backup is there"), err)
		}
		return nil
	})
	if set.Get(t).UID != uid || children(t, set) != before {
		t.Error("the Valkey, its pod or its StatefulSet is another one")
	}
	set.WaitReady(t, time.Minute)
}

// Scenario P1: with every API server dead the cluster works, and a namespace is gone soon after one is back. And a server stops at once.
func TestP1WithoutAnAPIServer(t *testing.T) {
	env := framework.Connect(t)
	begin := time.Now()
	env.ScaleAPIServer(t, 0)
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s to stop", took)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "unrelated-"}}
	namespace, err := env.Kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, "get", "pods", "-A")
	if err := env.Kube.CoreV1().Namespaces().Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	env.ScaleAPIServer(t, 1)
	framework.Eventually(t, 30*time.Second, "the namespace is gone", func() error {
		_, err := env.Kube.CoreV1().Namespaces().Get(t.Context(), namespace.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}
