// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// whole checks that the given Sentinels hold the monitor at the primary, count everybody, and could fail over.
func (c *cluster) whole(name string, primary string, replicas int, sentinels ...int) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, i := range sentinels {
			monitor, err := c.sentinels[i].Sentinel().MonitorByName(ctx, name)
			if err != nil {
				return fmt.Errorf("Sentinel %d: %w", i, err)
			}
			if want := c.nodes[primary].Address.Port; monitor.Primary.Host != "localhost" || monitor.Primary.Port != want {
				return fmt.Errorf("Sentinel %d holds %s at %s, want port %d", i, name, monitor.Primary, want)
			}
			if len(monitor.Flags) != 1 || monitor.NumReplicas != replicas || monitor.NumOtherSentinels != len(sentinels)-1 {
				return fmt.Errorf("Sentinel %d: flags %v, %d replicas, %d peers", i, monitor.Flags, monitor.NumReplicas, monitor.NumOtherSentinels)
			}
			check, err := c.sentinels[i].Sentinel().CheckQuorum(ctx, name)
			if err != nil || !check.OK || check.Usable != len(sentinels) {
				return fmt.Errorf("Sentinel %d: %+v, %w", i, check, err)
			}
		}
		return nil
	}
}

// ready checks that the set says that it is.
func (c *cluster) ready(context.Context) error {
	if status := c.set().Status; status.State != v1alpha1.StateReady {
		return fmt.Errorf("status is %s, %s: %s", status.State, status.Reason, status.Message)
	}
	return nil
}

var calls = regexp.MustCompile(`calls=(\d+)`)

// told is how often each Sentinel was sent each of the commands that change something.
func (c *cluster) commands() string {
	c.t.Helper()
	var counts []string
	for i, process := range c.sentinels {
		info, err := process.Sentinel().Info(c.t.Context(), "commandstats")
		if err != nil {
			c.t.Fatal(err)
		}
		for _, command := range []string{"monitor", "remove", "set", "reset", "failover"} {
			if match := calls.FindStringSubmatch(info["cmdstat_sentinel|"+command]); match != nil {
				counts = append(counts, fmt.Sprintf("%d %s %s", i, command, match[1]))
			}
		}
	}
	return strings.Join(counts, "\n")
}

// idle checks that rounds of the controller write nothing to anybody.
func (c *cluster) idle() {
	c.t.Helper()
	c.passUntil("Ready", c.ready)
	c.passUntil("every Sentinel has its connections", func(context.Context) error {
		for _, monitor := range c.set().Status.Monitors {
			if monitor.Flags != "master" {
				return fmt.Errorf("%s: %s", monitor.Name, monitor.Flags)
			}
		}
		return nil
	})
	c.pass()
	commands, writes, status := c.commands(), c.writes.Load(), c.set().Status
	for range 10 {
		c.pass()
	}
	if now := c.commands(); now != commands {
		c.t.Errorf("Sentinels were told something while nothing happened:\nbefore:\n%s\nafter:\n%s", commands, now)
	}
	if now := c.writes.Load(); now != writes {
		c.t.Errorf("%d writes to the API while nothing happened, the last: %s\nstatus:\n%s", now-writes, *c.wrote.Load(), cmp.Diff(status, c.set().Status))
	}
}

func TestEverySentinelIsToldOfEveryValkeyAndThenLeftAlone(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		c := startCluster(t, binary, 3)
		c.addValkey("a", 3, map[string]string{"failover-timeout": "20000", "parallel-syncs": "2"})
		c.addValkey("b", 1, nil)
		c.passUntil("a is whole", c.whole("a", "a-0", 2, 0, 1, 2))
		c.passUntil("b is whole", c.whole("b", "b-0", 0, 0, 1, 2))
		for i, process := range c.sentinels {
			monitor, err := process.Sentinel().MonitorByName(t.Context(), "a")
			if err != nil || monitor.Quorum != 2 || monitor.DownAfter != time.Second || monitor.FailoverTimeout != 20*time.Second || monitor.ParallelSyncs != 2 {
				t.Errorf("Sentinel %d holds %+v, %v", i, monitor, err)
			}
		}
		c.idle()
		// Another controller takes over. It does not know what was set, and the Sentinels are too young to be believed.
		c.controller = c.newController()
		c.idle()
		status := c.set().Status
		if len(status.Monitors) != 2 || status.Monitors[0].RegisteredOn != 3 || !status.Monitors[0].OK || status.Monitors[0].Sentinels != 3 || status.ReadyReplicas != 3 {
			t.Errorf("status is %+v", status)
		}
		if told := c.told(v1alpha1.EventMonitorRegistered); len(told) != 2 {
			t.Errorf("events: %v", told)
		}
	})
}

func TestARestartedEmptySentinelIsToldEverythingAndTheOthersNothing(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 3, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 2, 0, 1, 2))
	c.idle()
	before := c.commands()
	c.emptySentinel(1)
	if _, err := c.sentinels[1].Sentinel().MonitorByName(t.Context(), "a"); !errors.Is(err, valkeyclient.ErrNoSuchMonitor) {
		t.Fatalf("the restarted Sentinel is not empty: %v", err)
	}
	c.passUntil("a is whole again", c.whole("a", "a-0", 2, 0, 1, 2))
	c.idle()
	for _, line := range strings.Split(before, "\n") {
		if !strings.HasPrefix(line, "1 ") && !strings.Contains(c.commands(), line) {
			t.Errorf("another Sentinel was told something: was %q, is\n%s", line, c.commands())
		}
	}
}

func TestARelabelledValkeyIsRemovedFromEverySentinel(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 2, nil)
	c.addValkey("b", 1, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
	c.updateValkey("a", func(valkey *v1alpha1.Valkey) { valkey.Labels = nil })
	c.passUntil("a is gone", func(ctx context.Context) error {
		for i, process := range c.sentinels {
			if _, err := process.Sentinel().MonitorByName(ctx, "a"); !errors.Is(err, valkeyclient.ErrNoSuchMonitor) {
				return fmt.Errorf("Sentinel %d still holds it: %w", i, err)
			}
		}
		return nil
	})
	if told := c.told(v1alpha1.EventMonitorRemoved); len(told) != 1 || !strings.Contains(told[0], "Sentinel 0, 1, 2") {
		t.Errorf("events: %v", told)
	}
	c.idle()
}

func TestAMonitorAtAReplicaIsCorrected(t *testing.T) {
	for name, where := range map[string][]int{"on one Sentinel": {2}, "on all": {0, 1, 2}} {
		t.Run(name, func(t *testing.T) {
			c := startCluster(t, valkeytest.Default(t), 3)
			c.addValkey("a", 3, nil)
			c.passUntil("a is whole", c.whole("a", "a-0", 2, 0, 1, 2))
			wrong := valkeyclient.Address{Host: "localhost", Port: c.nodes["a-2"].Address.Port}
			for _, i := range where {
				sentinel := c.sentinels[i].Sentinel()
				if err := sentinel.Remove(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				if err := sentinel.Register(t.Context(), valkeyclient.Registration{Name: "a", Primary: wrong, Quorum: 2}); err != nil {
					t.Fatal(err)
				}
			}
			c.passUntil("a is whole again", c.whole("a", "a-0", 2, 0, 1, 2))
			if told := c.told(v1alpha1.EventMonitorCorrected); len(told) != 1 {
				t.Errorf("events: %v", told)
			}
			c.idle()
		})
	}
}

func TestAFailoverOfTheSentinelsIsFollowedAndNotTouched(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 2, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
	c.idle()
	if err := c.sentinels[0].Sentinel().Failover(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	commands := c.commands()
	c.passUntil("a is whole at its new primary", c.whole("a", "a-1", 1, 0, 1, 2))
	c.passUntil("the boot settings follow", func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := c.kube.Get(ctx, types.NamespacedName{Namespace: testNamespace, Name: naming.SentinelBootSecret(testSet)}, secret); err != nil {
			return err
		}
		settings, err := boot.Decode[boot.Sentinel](secret.Data[naming.KeyBoot])
		if err != nil || settings.Monitors[0].Port != c.nodes["a-1"].Address.Port {
			return fmt.Errorf("they name port %d, %w", settings.Monitors[0].Port, err)
		}
		return nil
	})
	c.idle()
	if now := c.commands(); now != commands {
		t.Errorf("Sentinels were told something:\nbefore:\n%s\nafter:\n%s", commands, now)
	}
}

func TestAChangedPasswordReachesTheSentinels(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 2, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
	key := types.NamespacedName{Namespace: testNamespace, Name: naming.SystemPasswordsSecret("a")}
	secret := &corev1.Secret{}
	if err := c.kube.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[naming.UserSentinel] = []byte("another")
	if err := c.kube.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"a-0", "a-1"} {
		c.setPassword(node, "another")
	}
	valkeytest.Eventually(t, "Sentinels are locked out", func(ctx context.Context) error {
		monitor, err := c.sentinels[0].Sentinel().MonitorByName(ctx, "a")
		if err != nil || !monitor.Flags.Has("s_down") {
			return fmt.Errorf("flags %v, %w", monitor.Flags, err)
		}
		return nil
	})
	// A controller that starts only now sees that they cannot log in.
	c.controller = c.newController()
	c.passUntil("a is whole again", c.whole("a", "a-0", 1, 0, 1, 2))
	c.idle()
}

// setPassword changes the Sentinels' password on a server, and throws out whoever is logged in.
func (c *cluster) setPassword(node, password string) {
	c.t.Helper()
	c.rewriteACL(node, func(user string) bool { return user == naming.UserSentinel }, password)
	if err := c.nodes[node].Node().ACLLoad(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.nodes[node].Node().ClientKill(c.t.Context(), valkeyclient.ClientNormal, valkeyclient.ClientPubSub); err != nil {
		c.t.Fatal(err)
	}
}

func TestAFrozenSentinelDelaysNobody(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 2, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
	c.sentinels[1].Stop()
	c.addValkey("b", 1, nil)
	began := time.Now()
	c.pass()
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("a pass took %s", took)
	}
	for _, i := range []int{0, 2} {
		if _, err := c.sentinels[i].Sentinel().MonitorByName(t.Context(), "b"); err != nil {
			t.Errorf("Sentinel %d: %v", i, err)
		}
	}
	c.passUntil("the set says so", func(context.Context) error {
		status := c.set().Status
		if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDegraded) || !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionQuorumHealthy) {
			return fmt.Errorf("conditions %+v", status.Conditions)
		}
		return nil
	})
	c.sentinels[1].Cont()
	c.passUntil("b is whole", c.whole("b", "b-0", 0, 0, 1, 2))
	c.idle()
}

func TestWhatASentinelRefusesIsSaidInItsWords(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 1, map[string]string{"parallel-syncs": "0", "auth-pass": "mine"})
	c.passUntil("a is whole", c.whole("a", "a-0", 0, 0, 1, 2))
	c.idle()
	warning := meta.FindStatusCondition(c.set().Status.Conditions, v1alpha1.ConditionConfigurationWarning)
	if warning == nil || warning.Status != metav1.ConditionTrue || !strings.Contains(warning.Message, "auth-pass") ||
		!strings.Contains(warning.Message, "parallel-syncs 0 was refused: Invalid argument '0'") {
		t.Errorf("warning is %+v", warning)
	}
}

func TestPodsThatWereScaledAwayAreForgotten(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 4)
	c.addValkey("a", 3, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 2, 0, 1, 2, 3))
	c.idle()
	for _, process := range c.sentinels { // or each would take ten seconds to find the replicas again
		if err := process.Sentinel().Debug(t.Context(), valkeyclient.Setting{Key: "info-period", Value: "1000"}); err != nil {
			t.Fatal(err)
		}
	}
	// The Valkey loses its last node, the set its last Sentinel.
	c.nodes["a-2"].Kill()
	c.updateValkey("a", func(valkey *v1alpha1.Valkey) { valkey.Spec.Replicas = 1 })
	if err := c.kube.Delete(t.Context(), &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "a-2"}}); err != nil {
		t.Fatal(err)
	}
	c.passUntil("the replica is forgotten", c.whole("a", "a-0", 1, 0, 1, 2, 3))
	set := c.set()
	set.Spec.Replicas, set.Generation = 3, 2
	if err := c.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	c.passUntil("the Sentinel is forgotten", c.whole("a", "a-0", 1, 0, 1, 2))
	c.sentinels = c.sentinels[:3]
	c.passUntil("Ready", c.ready)
	commands := c.commands()
	for range 10 {
		c.pass()
	}
	if now := c.commands(); now != commands {
		t.Errorf("Sentinels were told something while nothing happened:\nbefore:\n%s\nafter:\n%s", commands, now)
	}
}

func TestARollReplacesOnePodAtATimeAndKeepsTheQuorum(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.addValkey("a", 2, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
	set := c.set()
	set.Spec.Image, set.Generation = "another:1", 2
	if err := c.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	replaced := 0
	c.passUntil("all pods are as asked for", func(ctx context.Context) error {
		now := len(c.told(v1alpha1.EventSentinelReplaced))
		if now > 1 {
			t.Errorf("%d pods were replaced in one pass", now)
		}
		if replaced += now; replaced < 3 {
			return fmt.Errorf("%d pods were replaced", replaced)
		}
		return c.ready(ctx)
	})
	if replaced != 3 {
		t.Errorf("%d pods were replaced, want 3", replaced)
	}
	c.passUntil("a is whole", c.whole("a", "a-0", 1, 0, 1, 2))
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: naming.SentinelWorkload(testSet), Namespace: testNamespace}, Spec: corev1.ServiceSpec{ClusterIP: "10.1.2.3"}}
	c.create(service)
	c.pass()
	c.pass()
	status := c.set().Status
	if status.State != v1alpha1.StateFailed && status.State != v1alpha1.StateDegraded || status.Reason != v1alpha1.ReasonForeignObject {
		t.Errorf("status is %s, %s: %s", status.State, status.Reason, status.Message)
	}
	if told := c.told(v1alpha1.EventForeignObject); len(told) != 1 {
		t.Errorf("events: %v", told)
	}
	after := &corev1.Service{}
	if err := c.kube.Get(t.Context(), types.NamespacedName{Namespace: testNamespace, Name: service.Name}, after); err != nil || after.Spec.ClusterIP != "10.1.2.3" || len(after.OwnerReferences) != 0 {
		t.Errorf("the Service is %+v, %v", after.Spec, err)
	}
}

func TestWithoutTheRightToABudgetTheRestComesUp(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	c.forbidden = "PodDisruptionBudget"
	c.addValkey("a", 1, nil)
	c.passUntil("a is whole", c.whole("a", "a-0", 0, 0, 1, 2))
	c.pass()
	degraded := meta.FindStatusCondition(c.set().Status.Conditions, v1alpha1.ConditionDegraded)
	if degraded == nil || degraded.Reason != v1alpha1.ReasonApplyFailed || !strings.Contains(degraded.Message, "PodDisruptionBudget") {
		t.Errorf("Degraded is %+v", degraded)
	}
	if !meta.IsStatusConditionTrue(c.set().Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("conditions %+v", c.set().Status.Conditions)
	}
	writes := c.writes.Load()
	for range 5 {
		c.pass()
	}
	if now := c.writes.Load(); now != writes {
		t.Errorf("%d writes, the last: %s", now-writes, *c.wrote.Load())
	}
	if told := c.told(v1alpha1.EventApplyFailed); len(told) != 1 {
		t.Errorf("events: %v", told)
	}
}

func TestNothingIsDoneInANamespaceThatGoes(t *testing.T) {
	c := startCluster(t, valkeytest.Default(t), 3)
	namespace := &corev1.Namespace{}
	if err := c.kube.Get(t.Context(), types.NamespacedName{Name: testNamespace}, namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Finalizers = []string{"kubernetes"}
	if err := c.kube.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := c.kube.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	before := c.writes.Load()
	c.pass()
	if c.writes.Load() != before {
		t.Error("something was written")
	}
}
