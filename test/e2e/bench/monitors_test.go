//go:build e2ebench

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// What one set of three Sentinels costs that monitors many Valkeys (INSTANCES, or 100), while nothing happens, for LENGTH seconds.
func TestMonitors(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "monitors")
	count, length := framework.Number(t, "INSTANCES", 100), time.Duration(framework.Number(t, "LENGTH", 60))*time.Second
	framework.Fleet(t, ns, count, "{replicas: 0, failover: {mode: Sentinel}, resources: {requests: {cpu: 1m, memory: 8Mi}}}")
	e.WaitFleet(t, ns, "served", count, 20*time.Minute, func(vk *v1alpha1.Valkey) bool { return vk.Status.PrimaryAddress != "" && vk.Status.ReadyReplicas == 1 })
	fmt.Printf("| %d monitors | CPU of a core | memory | connections |\n", count)
	without := queries(t, e, length)

	began := time.Now()
	framework.Apply(t, ns, framework.SentinelManifest("watch"))
	e.WaitFleet(t, ns, "monitored by all three", count, 20*time.Minute, func(vk *v1alpha1.Valkey) bool {
		return vk.Status.Monitoring != nil && vk.Status.Monitoring.Registered && vk.Status.Monitoring.AvailableQuorum == 3
	})
	registered := time.Since(began)
	with := costs(t, e, ns, length)
	fmt.Printf("\nall of them were registered %s after the set was applied; %.1f queries a second reach the cluster's DNS with the Sentinels, %.1f without\n",
		registered.Round(time.Second), with, without)
}

// costs prints a row for each program of each Sentinel, and returns the rate of queries meanwhile.
func costs(t *testing.T, e *framework.Env, ns string, length time.Duration) float64 {
	t.Helper()
	var pods []*corev1.Pod
	before := map[string]map[string]framework.Usage{}
	for i := range 3 {
		pod, err := e.Kube.CoreV1().Pods(ns).Get(t.Context(), naming.SentinelPod("watch", i), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods = append(pods, pod)
		before[pod.Name] = framework.ContainerUsage(t, pod, naming.ContainerSentinel)
	}
	began := time.Now()
	rate := queries(t, e, length)
	took := time.Since(began)
	for _, pod := range pods {
		after := framework.ContainerUsage(t, pod, naming.ContainerSentinel)
		for _, program := range slices.Sorted(maps.Keys(after)) {
			used := after[program].CPU - before[pod.Name][program].CPU
			fmt.Printf("| %s, %s | %.1f %% | %d MiB | %d |\n", pod.Name, program, 100*used.Seconds()/took.Seconds(), after[program].KiB/1024,
				framework.Connections(t, pod, naming.ContainerSentinel))
		}
	}
	return rate
}

// queries is how many a second the cluster's DNS is asked, for a time.
func queries(t *testing.T, e *framework.Env, length time.Duration) float64 {
	t.Helper()
	began, before := time.Now(), asked(t, e)
	time.Sleep(length) // the time itself
	return float64(asked(t, e)-before) / time.Since(began).Seconds()
}

// asked is how many queries the cluster's DNS has had so far.
func asked(t *testing.T, e *framework.Env) (sum int) {
	t.Helper()
	pods, err := e.Kube.CoreV1().Pods(metav1.NamespaceSystem).List(t.Context(), metav1.ListOptions{LabelSelector: "k8s-app=kube-dns"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatalf("%d pods of the cluster's DNS, %v", len(pods.Items), err)
	}
	for i := range pods.Items {
		text, err := e.Kube.CoreV1().RESTClient().Get().Namespace(metav1.NamespaceSystem).Resource("pods").Name(pods.Items[i].Name + ":9153").
			SubResource("proxy").Suffix("metrics").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if line := lines.Text(); strings.HasPrefix(line, "coredns_dns_requests_total{") {
				var n float64
				if _, err := fmt.Sscan(line[strings.LastIndex(line, " ")+1:], &n); err != nil {
					t.Fatal(err)
				}
				sum += int(n)
			}
		}
	}
	return sum
}
