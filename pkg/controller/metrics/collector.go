// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// patience bounds the reading of the objects, which are in memory.
const patience = 5 * time.Second

// The metrics. docs/metrics.md tells users of them.
var (
	condition = describe("valkey_condition", "Whether a condition of an object has this status.", "kind", "condition", "status")

	nodesDesired   = describe("valkey_nodes_desired", "Nodes that the Valkey shall have, the primary included.")
	nodesReady     = describe("valkey_nodes_ready", "Nodes of the Valkey that are ready, the primary included.")
	replicasSynced = describe("valkey_replicas_synced", "Replicas of the Valkey that follow its primary with their link up.")
	primary        = describe("valkey_primary", "1 for the node that is the primary of the Valkey.", "node")
	lastFailover   = describe("valkey_last_failover_timestamp_seconds", "When the primary of the Valkey was last changed, in seconds since 1970.", "cause")

	sentinelsDesired = describe("valkey_sentinels_desired", "Sentinels that the ValkeySentinel shall have.")
	sentinelsReady   = describe("valkey_sentinels_ready", "Sentinels of the ValkeySentinel that are ready.")
	monitorOK        = describe("valkey_sentinel_monitor_ok", "Whether enough Sentinels for a failover watch this monitor.", "monitor")
)

func all() []*prometheus.Desc {
	return []*prometheus.Desc{
		condition, nodesDesired, nodesReady, replicasSynced, primary, lastFailover, sentinelsDesired, sentinelsReady, monitorOK,
	}
}

// describe is a metric of an object. The namespace is not in a label "namespace", which Prometheus gives to the pod that it asks.
func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"object_namespace", "object_name"}, labels...), nil)
}

// Collector reads the objects each time that it is asked.
type Collector struct{ reader client.Reader }

// NewCollector reads the objects with the reader, which should be a cache.
func NewCollector(reader client.Reader) *Collector { return &Collector{reader: reader} }

// Setup serves the metrics with the manager's own, in place of those of a manager before it.
func Setup(mgr manager.Manager) error {
	collector := NewCollector(mgr.GetClient())
	err := ctrlmetrics.Registry.Register(collector)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		ctrlmetrics.Registry.Unregister(before.ExistingCollector)
		err = ctrlmetrics.Registry.Register(collector)
	}
	if err != nil {
		return fmt.Errorf("serve the metrics of the instances: %w", err)
	}
	return nil
}

// Describe tells which metrics there are.
func (c *Collector) Describe(described chan<- *prometheus.Desc) {
	for _, desc := range all() {
		described <- desc
	}
}

// Collect tells what the objects say. What cannot be read is left out, and logged.
func (c *Collector) Collect(told chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	valkeys, sentinels, nodes := &v1alpha1.ValkeyList{}, &v1alpha1.ValkeySentinelList{}, &v1alpha1.ValkeyNodeList{}
	for _, list := range []client.ObjectList{valkeys, sentinels, nodes} {
		if err := c.reader.List(ctx, list); err != nil {
			klog.FromContext(ctx).Error(err, "metrics of the instances")
		}
	}
	for i := range valkeys.Items {
		tellValkey(teller{told, &valkeys.Items[i]}, &valkeys.Items[i])
	}
	for i := range sentinels.Items {
		tellSentinel(teller{told, &sentinels.Items[i]}, &sentinels.Items[i])
	}
	for i := range nodes.Items {
		teller{told, &nodes.Items[i]}.conditions("ValkeyNode", nodes.Items[i].Status.Conditions)
	}
}

func tellValkey(t teller, valkey *v1alpha1.Valkey) {
	status := valkey.Status
	t.tell(nodesDesired, float64(valkey.Spec.Replicas)+1)
	t.tell(nodesReady, float64(status.ReadyReplicas))
	t.tell(replicasSynced, float64(status.SyncedReplicas))
	if status.Primary != "" {
		t.tell(primary, 1, status.Primary)
	}
	if last := status.LastFailover; last != nil {
		t.tell(lastFailover, float64(last.StartedAt.Unix()), string(last.Cause))
	}
	t.conditions("Valkey", status.Conditions)
}

func tellSentinel(t teller, set *v1alpha1.ValkeySentinel) {
	t.tell(sentinelsDesired, float64(set.Spec.Replicas))
	t.tell(sentinelsReady, float64(set.Status.ReadyReplicas))
	for _, monitor := range set.Status.Monitors {
		t.tell(monitorOK, number(monitor.OK), monitor.Name)
	}
	t.conditions("ValkeySentinel", set.Status.Conditions)
}

// teller tells of one object.
type teller struct {
	told   chan<- prometheus.Metric
	object client.Object
}

func (t teller) tell(desc *prometheus.Desc, value float64, labels ...string) {
	values := append([]string{t.object.GetNamespace(), t.object.GetName()}, labels...)
	t.told <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, values...)
}

// conditions tells of each condition, for each status, whether it has it: so that a query for one that is gone finds a 0 and not nothing.
func (t teller) conditions(kind string, conditions []metav1.Condition) {
	for _, c := range conditions {
		for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown} {
			t.tell(condition, number(c.Status == status), kind, c.Type, string(status))
		}
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
