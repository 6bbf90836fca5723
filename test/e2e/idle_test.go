//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// idleTime is how long nothing happens: $IDLE, such as 10m, or a minute.
func idleTime(t *testing.T) time.Duration {
	t.Helper()
	asked := os.Getenv("IDLE")
	if asked == "" {
		return time.Minute
	}
	length, err := time.ParseDuration(asked)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

// K2, A11: while nothing happens to twenty Valkeys the controller writes nothing, neither to the API nor to the Sentinels of one more.
func TestIdleSystemIsLeftAlone(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "idle")
	const count = 20
	framework.Fleet(t, ns, count, "{replicas: 0, failover: {mode: Operator}}")
	s := e.Start(t, e.Namespace(t, "idle-monitored"), framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel})
	e.WaitFleet(t, ns, "ready", count, 5*time.Minute, func(vk *v1alpha1.Valkey) bool { return vk.Status.State == v1alpha1.StateReady })
	framework.WaitNothingToWrite(t, 2*time.Minute)
	told, epochs, begin := sentinelsWereTold(t, s), configEpochs(t, s), time.Now()
	for name, count := range told {
		if count == 0 {
			t.Fatalf("%s does not say that it was told of a monitor", name)
		}
	}
	time.Sleep(idleTime(t)) // the idle time itself
	if writes := framework.ControllerWrites(t, begin); len(writes) > 0 {
		t.Errorf("%d writes while nothing happened: %v", len(writes), writes)
	}
	if after := sentinelsWereTold(t, s); !maps.Equal(after, told) {
		t.Errorf("the Sentinels noted so many changes: %v, and while nothing happened %v", told, after)
	}
	if after := configEpochs(t, s); !maps.Equal(after, epochs) {
		t.Errorf("the epochs of the configuration were %v, and while nothing happened became %v", epochs, after)
	}
}

// sentinelsWereTold counts, by pod, what a Sentinel logs when somebody changes what it monitors.
func sentinelsWereTold(t *testing.T, s *framework.Set) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for pod := range s.Sentinels {
		name := naming.SentinelPod(s.Sentinel, pod)
		log := framework.Kubectl(t, "logs", "-n", s.Namespace, name, "-c", naming.ContainerSentinel, "--tail=-1")
		for _, event := range []string{"+monitor ", "-monitor ", "+reset-master ", "+set ", "+switch-master "} {
			counts[name] += strings.Count(log, event)
		}
	}
	return counts
}

// configEpochs are the epochs of what each Sentinel knows of the Valkey, by pod.
func configEpochs(t *testing.T, s *framework.Set) map[string]int64 {
	t.Helper()
	list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(t.Context(), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	epochs := map[string]int64{}
	for _, monitor := range list.Items {
		for _, view := range monitor.Views {
			epochs[view.Pod] = view.ConfigEpoch
		}
	}
	if len(epochs) != s.Sentinels {
		t.Fatalf("the Sentinels say %v", epochs)
	}
	return epochs
}
