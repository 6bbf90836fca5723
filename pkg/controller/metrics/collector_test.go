// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func reader(t *testing.T, objects ...client.Object) *fake.ClientBuilder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
}

func meta(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }

func conditionsOf(kind string, status metav1.ConditionStatus) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status}}
}

func TestWhatIsTold(t *testing.T) {
	valkey := &v1alpha1.Valkey{ObjectMeta: meta("cache")}
	valkey.Spec.Replicas = 2
	valkey.Status = v1alpha1.ValkeyStatus{
		Primary: "cache-1", ReadyReplicas: 3, SyncedReplicas: 1, Conditions: conditionsOf(v1alpha1.ConditionDegraded, metav1.ConditionTrue),
		LastFailover: &v1alpha1.FailoverRecord{Cause: v1alpha1.FailoverCauseSentinel, StartedAt: metav1.NewTime(time.Unix(1000, 0))},
	}
	fresh := &v1alpha1.Valkey{ObjectMeta: meta("fresh")}
	set := &v1alpha1.ValkeySentinel{ObjectMeta: meta("watch")}
	set.Spec.Replicas = 3
	set.Status = v1alpha1.ValkeySentinelStatus{ReadyReplicas: 2, Monitors: []v1alpha1.MonitorStatus{{Name: "cache", OK: true}, {Name: "other"}}}
	node := &v1alpha1.ValkeyNode{ObjectMeta: meta("cache-0")}
	node.Status.Conditions = conditionsOf(v1alpha1.ConditionReady, metav1.ConditionUnknown)

	want := `
# HELP valkey_condition Whether a condition of an object has this status.
# TYPE valkey_condition gauge
valkey_condition{condition="Degraded",kind="Valkey",object_name="cache",object_namespace="ns",status="False"} 0
valkey_condition{condition="Degraded",kind="Valkey",object_name="cache",object_namespace="ns",status="True"} 1
valkey_condition{condition="Degraded",kind="Valkey",object_name="cache",object_namespace="ns",status="Unknown"} 0
valkey_condition{condition="Ready",kind="ValkeyNode",object_name="cache-0",object_namespace="ns",status="False"} 0
valkey_condition{condition="Ready",kind="ValkeyNode",object_name="cache-0",object_namespace="ns",status="True"} 0
valkey_condition{condition="Ready",kind="ValkeyNode",object_name="cache-0",object_namespace="ns",status="Unknown"} 1
# HELP valkey_last_failover_timestamp_seconds When the primary of the Valkey was last changed, in seconds since 1970.
# TYPE valkey_last_failover_timestamp_seconds gauge
valkey_last_failover_timestamp_seconds{cause="Sentinel",object_name="cache",object_namespace="ns"} 1000
# HELP valkey_nodes_desired Nodes that the Valkey shall have, the primary included.
# TYPE valkey_nodes_desired gauge
valkey_nodes_desired{object_name="cache",object_namespace="ns"} 3
valkey_nodes_desired{object_name="fresh",object_namespace="ns"} 1
# HELP valkey_nodes_ready Nodes of the Valkey that are ready, the primary included.
# TYPE valkey_nodes_ready gauge
valkey_nodes_ready{object_name="cache",object_namespace="ns"} 3
valkey_nodes_ready{object_name="fresh",object_namespace="ns"} 0
# HELP valkey_primary 1 for the node that is the primary of the Valkey.
# TYPE valkey_primary gauge
valkey_primary{node="cache-1",object_name="cache",object_namespace="ns"} 1
# HELP valkey_replicas_synced Replicas of the Valkey that follow its primary with their link up.
# TYPE valkey_replicas_synced gauge
valkey_replicas_synced{object_name="cache",object_namespace="ns"} 1
valkey_replicas_synced{object_name="fresh",object_namespace="ns"} 0
# HELP valkey_sentinel_monitor_ok Whether enough Sentinels for a failover watch this monitor.
# TYPE valkey_sentinel_monitor_ok gauge
valkey_sentinel_monitor_ok{monitor="cache",object_name="watch",object_namespace="ns"} 1
valkey_sentinel_monitor_ok{monitor="other",object_name="watch",object_namespace="ns"} 0
# HELP valkey_sentinels_desired Sentinels that the ValkeySentinel shall have.
# TYPE valkey_sentinels_desired gauge
valkey_sentinels_desired{object_name="watch",object_namespace="ns"} 3
# HELP valkey_sentinels_ready Sentinels of the ValkeySentinel that are ready.
# TYPE valkey_sentinels_ready gauge
valkey_sentinels_ready{object_name="watch",object_namespace="ns"} 2
`
	collector := NewCollector(reader(t, valkey, fresh, set, node).Build())
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(collector); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// One kind that cannot be read does not hide the others.
func TestWhatCannotBeReadIsLeftOut(t *testing.T) {
	broken := interceptor.Funcs{List: func(ctx context.Context, under client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, nodes := list.(*v1alpha1.ValkeyNodeList); nodes {
			return errors.New("away")
		}
		return under.List(ctx, list, options...)
	}}
	collector := NewCollector(reader(t, &v1alpha1.Valkey{ObjectMeta: meta("cache")}).WithInterceptorFuncs(broken).Build())
	if count := testutil.CollectAndCount(collector, "valkey_nodes_desired"); count != 1 {
		t.Errorf("%d", count)
	}
}

// The documentation names every metric, and no other.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, name := range regexp.MustCompile("(?m)^\\| `(valkey_[a-z_]+)`").FindAllStringSubmatch(string(text), -1) {
		documented[name[1]] = true
	}
	for _, desc := range all() {
		name := regexp.MustCompile(`fqName: "([a-z_]+)"`).FindStringSubmatch(desc.String())[1]
		if !documented[name] {
			t.Errorf("docs/metrics.md does not name %s", name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/metrics.md names %s, which does not exist", name)
	}
}

var _ prometheus.Collector = (*Collector)(nil)
