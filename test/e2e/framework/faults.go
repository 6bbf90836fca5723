// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

const systemNamespace = "valkey-system"

// Cluster runs a verb of the local cluster, such as "cut node-1".
func Cluster(t *testing.T, verb string, args ...string) {
	t.Helper()
	if err := tryCluster(t, verb, args...); err != nil {
		t.Fatal(err)
	}
}

func tryCluster(t *testing.T, verb string, args ...string) error {
	t.Helper()
	binary := os.Getenv("CLUSTER_BIN")
	if binary == "" {
		return fmt.Errorf("CLUSTER_BIN is not set: run the end-to-end tests with make e2e")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	words := append([]string{verb, "--name", os.Getenv("CLUSTER")}, args...)
	if out, err := exec.CommandContext(ctx, binary, words...).CombinedOutput(); err != nil {
		return fmt.Errorf("cluster %v: %w: %s", words, err, out)
	}
	return nil
}

// Cut takes a node off the network until the function that it returns is called, or the test ends.
func Cut(t *testing.T, node string) (heal func()) {
	t.Helper()
	return fault(t, node, "cut", "heal")
}

// StopNode ends everything on a node until the function that it returns is called, or the test ends.
func StopNode(t *testing.T, node string) (start func()) {
	t.Helper()
	return fault(t, node, "stop-node", "start-node")
}

func fault(t *testing.T, node, verb, undo string) func() {
	t.Helper()
	Connect(t).WaitWhole(t)
	restore := sync.OnceFunc(func() {
		if err := tryCluster(t, undo, node); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	Cluster(t, verb, node)
	return restore
}

// WaitWhole waits until an earlier fault has left nothing behind: one machine is lost at a time, and half of the cluster's DNS with it at most.
func (e *Env) WaitWhole(t *testing.T) {
	t.Helper()
	Eventually(t, 3*time.Minute, "every machine and the cluster's DNS are ready", func() error {
		machines, err := e.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range machines.Items {
			for _, c := range machines.Items[i].Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
					return fmt.Errorf("%s: %s", machines.Items[i].Name, c.Message)
				}
			}
		}
		dns, err := e.Kube.AppsV1().Deployments(metav1.NamespaceSystem).Get(t.Context(), "coredns", metav1.GetOptions{})
		if err == nil && dns.Status.ReadyReplicas != *dns.Spec.Replicas {
			err = fmt.Errorf("%d of %d DNS pods are ready", dns.Status.ReadyReplicas, *dns.Spec.Replicas)
		}
		return err
	})
}

// Scale sets the number of pods of one of the product's Deployments and waits until it is so; after the test it is restored.
func (e *Env) Scale(t *testing.T, deployment string, replicas int32) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	was, err := e.Kube.AppsV1().Deployments(systemNamespace).Get(ctx, deployment, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := *was.Spec.Replicas
	e.scale(t, deployment, replicas)
	if before > replicas {
		t.Cleanup(func() { e.scale(t, deployment, before) })
	}
}

func (e *Env) scale(t *testing.T, deployment string, replicas int32) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := e.Kube.AppsV1().Deployments(systemNamespace).Patch(ctx, deployment, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Error(err)
		return
	}
	Eventually(t, 2*time.Minute, fmt.Sprintf("%s has %d pods", deployment, replicas), func() error {
		pods, err := e.Kube.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + deployment})
		if err != nil {
			return err
		}
		ready := int32(0)
		for i := range pods.Items {
			if PodReady(&pods.Items[i]) && pods.Items[i].DeletionTimestamp == nil {
				ready++
			}
		}
		if ready != replicas || len(pods.Items) != int(replicas) {
			return fmt.Errorf("%d pods, %d ready", len(pods.Items), ready)
		}
		return nil
	})
}

// ScaleController sets the number of controllers.
func (e *Env) ScaleController(t *testing.T, replicas int32) {
	t.Helper()
	e.Scale(t, "valkey-controller", replicas)
}

// ScaleAPIServer sets the number of API servers, and waits until the API is served where there are some.
func (e *Env) ScaleAPIServer(t *testing.T, replicas int32) {
	t.Helper()
	e.Scale(t, "valkey-apiserver", replicas)
	if replicas == 0 {
		return
	}
	Eventually(t, time.Minute, "the API is served", func() error {
		_, err := e.Valkey.ValkeyV1alpha1().Valkeys("default").List(t.Context(), metav1.ListOptions{})
		return err
	})
}

// BlockController keeps the controller from a port of a node's pod until the function that it returns is called, or the test ends.
func (s *Set) BlockController(t *testing.T, node string, port int) (unblock func()) {
	t.Helper()
	container := []string{s.Namespace, naming.NodePod(node), naming.ContainerServer}
	unblock = sync.OnceFunc(func() {
		if err := tryCluster(t, "unblock", container...); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(unblock)
	Cluster(t, "block", append(container, s.Env.ControllerPod(t).Status.PodIP, strconv.Itoa(port))...)
	return unblock
}
