//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// monitorCRD is what the product needs of the Prometheus operator's: that it exists.
const monitorCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servicemonitors.monitoring.coreos.com}
spec:
  group: monitoring.coreos.com
  names: {kind: ServiceMonitor, listKind: ServiceMonitorList, plural: servicemonitors, singular: servicemonitor}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// The exporter scrapes without being refused anything, and a ServiceMonitor leads Prometheus to each node once.
func TestExporter(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "exporter")
	framework.Apply(t, "", monitorCRD)
	t.Cleanup(func() {
		_, _ = framework.TryKubectl(t, "", "delete", "crd", "servicemonitors.monitoring.coreos.com", "--wait=false")
	})
	framework.Kubectl(t, "wait", "--for=condition=Established", "crd/servicemonitors.monitoring.coreos.com", "--timeout=1m")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "auditor"}, StringData: map[string]string{"password": "of-the-auditor"}}
	if _, err := e.Kube.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, Extra: `  users:
  - {name: auditor, passwordSecret: {name: auditor}, commands: {allow: [acl|log]}}
  exporter: {enabled: true, serviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}}
`})
	t.Run("is refused nothing", func(t *testing.T) { scrapesUnrefused(t, s) })
	t.Run("is found by a ServiceMonitor", func(t *testing.T) { monitorFindsEachNode(t, s) })
	s.Patch(t, `{"spec":{"exporter":{"serviceMonitor":{"enabled":false}}}}`)
	framework.Eventually(t, time.Minute, "the ServiceMonitor is gone", func() error {
		out, err := framework.TryKubectl(t, "", "get", "servicemonitor", "-n", ns, "-o", "name")
		if err == nil && out != "" {
			err = errors.New(out)
		}
		return err
	})
}

func scrapesUnrefused(t *testing.T, s *framework.Set) {
	c := s.Env.Client(t, s.Namespace)
	for _, m := range s.Get(t).Status.Members {
		for range 3 {
			metrics, err := s.Env.Kube.CoreV1().Pods(s.Namespace).ProxyGet("http", m.Pod, strconv.Itoa(naming.PortExporter), "/metrics", nil).DoRaw(t.Context())
			if err != nil || !strings.Contains(string(metrics), "redis_up 1") {
				t.Fatalf("%s: %v: %.300s", m.Pod, err, metrics)
			}
		}
		log, err := c.DoAs(t, s.Address(m.Node), "auditor", "of-the-auditor", "ACL", "LOG")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log, naming.UserExporter) {
			t.Errorf("%s refused the exporter something: %s", m.Node, log)
		}
	}
}

func monitorFindsEachNode(t *testing.T, s *framework.Set) {
	var monitor struct {
		Metadata metav1.ObjectMeta
		Spec     struct {
			Selector  metav1.LabelSelector
			Endpoints []struct{ TargetPort, Interval string }
		}
	}
	framework.Eventually(t, time.Minute, "the ServiceMonitor is there", func() error {
		out, err := framework.TryKubectl(t, "", "get", "servicemonitor", naming.ValkeyService(s.Name), "-n", s.Namespace, "-o", "json")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return json.Unmarshal([]byte(out), &monitor)
	})
	if monitor.Metadata.Labels["release"] != "prometheus" || len(monitor.Metadata.OwnerReferences) != 1 || len(monitor.Spec.Endpoints) != 1 ||
		monitor.Spec.Endpoints[0].TargetPort != naming.PortNameExporter || monitor.Spec.Endpoints[0].Interval != "15s" {
		t.Errorf("%+v", monitor)
	}
	services, err := s.Env.Kube.CoreV1().Services(s.Namespace).List(context.WithoutCancel(t.Context()),
		metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(&monitor.Spec.Selector)})
	if err != nil || len(services.Items) != 2 {
		t.Errorf("it selects %d Services, %v", len(services.Items), err)
	}
}
