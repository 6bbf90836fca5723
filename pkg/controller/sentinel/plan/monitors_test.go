// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestOfOneMonitorNameTheOlderValkeyIsMonitored(t *testing.T) {
	born := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	valkey := func(name, monitor string, age time.Duration) Valkey {
		return Valkey{Monitor: monitor, Object: &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.NewTime(born.Add(-age)),
		}}}
	}
	d := &draft{Observed: Observed{Set: &v1alpha1.ValkeySentinel{}, Valkeys: []Valkey{
		valkey("a", "m", 0), valkey("b", "m", time.Hour), valkey("c", "n", 0), valkey("d", "n", 0),
	}}}
	stepMonitors(d)
	var got []string
	for _, m := range d.plan.monitors {
		got = append(got, m.name+" of "+m.valkey.Object.Name)
	}
	if diff := cmp.Diff([]string{"m of b", "n of c"}, got); diff != "" {
		t.Errorf("monitored: want (-), got (+):\n%s", diff)
	}
	want := []string{"Valkey a uses the monitor name m of Valkey b", "Valkey d uses the monitor name n of Valkey c"}
	if diff := cmp.Diff(want, d.plan.taken); diff != "" {
		t.Errorf("told: want (-), got (+):\n%s", diff)
	}
}
