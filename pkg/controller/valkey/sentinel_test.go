// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func sentinelMode(valkey *v1alpha1.Valkey) {
	valkey.Spec.Replicas = 2
	valkey.Spec.Failover.Mode = v1alpha1.FailoverModeSentinel
}

func sentinelPassword(user string) string { return "password-of-" + strings.TrimPrefix(user, "_") }

// startSentinels makes the ValkeySentinel, its password Secret and pods, and real Sentinels behind them.
func (l *lab) startSentinels() {
	l.t.Helper()
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: testSet, Namespace: testNamespace, UID: "set-uid"}}
	set.Spec.Replicas = 3
	set.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watch": "yes"}}
	l.create(set)
	passwords := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: naming.SentinelPasswordsSecret(testSet), Namespace: testNamespace, Labels: naming.SentinelLabels(testSet)}, Data: map[string][]byte{}}
	open, _ := valkeyconf.OpenSentinelDefault().Line()
	acl := []string{open}
	for _, user := range naming.SentinelSystemUsers() {
		passwords.Data[user] = []byte(sentinelPassword(user))
		rules, _ := valkeyconf.SentinelUser(user, valkeyconf.HashPassword(sentinelPassword(user)))
		line, err := rules.Line()
		if err != nil {
			l.t.Fatal(err)
		}
		acl = append(acl, line)
	}
	l.create(passwords)
	for i := range 3 {
		name := naming.SentinelPod(testSet, i)
		l.processes[name] = valkeytest.StartSentinel(l.t, valkeytest.Options{
			Binary: l.binary, Name: name, Port: l.addressOf(name).Port, ACL: acl,
			Credentials: valkeyclient.Credentials{Username: naming.UserOperator, Password: sentinelPassword(naming.UserOperator)},
			Config:      []string{"sentinel sentinel-user " + naming.UserPeer, "sentinel sentinel-pass " + sentinelPassword(naming.UserPeer)},
		})
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: testNamespace, UID: types.UID(name), Labels: naming.SentinelLabels(testSet)}}
		l.create(pod)
		l.setPodStatus(pod, naming.ContainerSentinel, true, true)
	}
}

// register is the Sentinel controller's part.
func (l *lab) register(primary string) {
	l.t.Helper()
	password := l.data(naming.SystemPasswordsSecret(testName))[naming.UserSentinel]
	for i := range 3 {
		sentinel := l.processes[naming.SentinelPod(testSet, i)].Sentinel()
		registration := valkeyclient.Registration{Name: testName, Primary: addressFor(l.addressOf(primary)), Quorum: 2}
		if err := sentinel.Register(l.t.Context(), registration); err != nil {
			l.t.Fatal(err)
		}
		err := sentinel.Set(l.t.Context(), testName,
			valkeyclient.Setting{Key: "auth-user", Value: naming.UserSentinel}, valkeyclient.Setting{Key: "auth-pass", Value: password},
			valkeyclient.Setting{Key: "down-after-milliseconds", Value: "1000"}, valkeyclient.Setting{Key: "failover-timeout", Value: "10000"})
		if err != nil {
			l.t.Fatal(err)
		}
		periods := []valkeyclient.Setting{
			{Key: "ping-period", Value: "200"}, {Key: "info-period", Value: "1000"}, {Key: "publish-period", Value: "500"}}
		if err := sentinel.Debug(l.t.Context(), periods...); err != nil {
			l.t.Fatal(err)
		}
	}
	l.until("the Sentinels know everybody", func() error {
		for i := range 3 {
			monitor, err := l.processes[naming.SentinelPod(testSet, i)].Sentinel().MonitorByName(l.t.Context(), testName)
			if err != nil {
				return err
			}
			if monitor.NumReplicas != 2 || monitor.NumOtherSentinels != 2 {
				return fmt.Errorf("Sentinel %d knows %d replicas and %d Sentinels", i, monitor.NumReplicas, monitor.NumOtherSentinels)
			}
		}
		return l.isState(v1alpha1.StateReady)
	})
}

// monitoredLab is a lab with a Valkey of three that its Sentinels monitor: v-0 is primary.
func monitoredLab(t *testing.T) *lab {
	t.Helper()
	l := newLab(t)
	l.startSentinels()
	l.makeValkey(sentinelMode)
	l.until("the nodes run", func() error { return all(l.wantFollows("v-1", "v-0"), l.wantFollows("v-2", "v-0")) })
	l.register("v-0")
	return l
}

// watch runs the watcher, with a router behind it, as Setup does.
func (l *lab) watch() {
	switches := make(chan event.GenericEvent)
	ctx, cancel := context.WithCancel(l.t.Context())
	l.t.Cleanup(cancel)
	w := &watcher{r: l.controller, switches: switches}
	go func() { _ = w.Start(ctx) }()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case told := <-switches:
				request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(told.Object)}
				for {
					result, err := l.controller.route(ctx, request)
					if err != nil || result.RequeueAfter == 0 {
						break
					}
					time.Sleep(result.RequeueAfter)
				}
			}
		}
	}()
}

func TestTheServiceFollowsASwitchOfTheSentinelsAtOnce(t *testing.T) {
	l := monitoredLab(t)
	if got := l.data(naming.SystemPasswordsSecret(testName))[naming.KeySentinelAgent]; got != sentinelPassword(naming.UserAgent) {
		t.Errorf("the agents' password on the Sentinels was not copied")
	}
	l.fill("v-0", "v-1", "v-2")
	l.watch()

	// When the first Sentinel switched, as the test hears it.
	var switched atomic.Int64
	for i := range 3 {
		go func() {
			_ = l.processes[naming.SentinelPod(testSet, i)].Sentinel().Subscribe(t.Context(), func(told valkeyclient.Event) {
				if told.Kind == valkeyclient.EventSwitch {
					switched.CompareAndSwap(0, time.Now().UnixNano())
				}
			})
		}()
	}
	time.Sleep(500 * time.Millisecond) // the subscriptions are not awaited otherwise
	l.broken["v-0"] = true
	l.crash("v-0")
	var followed time.Time
	deadline := time.Now().Add(valkeytest.Patience)
	for followed.IsZero() {
		for _, node := range []string{"v-1", "v-2"} {
			if l.wantServiceAt(node) == nil {
				followed = time.Now()
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the Service does not follow")
		}
		time.Sleep(2 * time.Millisecond)
	}
	after := followed.Sub(time.Unix(0, switched.Load()))
	t.Logf("the Service followed %s after the first +switch-master", after)
	if switched.Load() == 0 || after > time.Second {
		t.Errorf("the Service followed %s after the switch", after)
	}
	l.until("the status follows", func() error {
		status := l.valkey().Status
		if status.Primary == "v-0" || status.LastFailover == nil || status.LastFailover.Cause != v1alpha1.FailoverCauseSentinel {
			return fmt.Errorf("primary %s, last failover %+v", status.Primary, status.LastFailover)
		}
		return l.isState(v1alpha1.StateDegraded)
	})
	delete(l.broken, "v-0")
	l.until("the old primary is a replica", func() error {
		return all(l.wantFollows("v-0", l.valkey().Status.Primary), l.isState(v1alpha1.StateReady))
	})
}

func TestARollUnderSentinelsHandsOverThroughThem(t *testing.T) {
	l := monitoredLab(t)
	l.fill("v-0", "v-1", "v-2")
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.PodAnnotations = map[string]string{"team": "blue"} })
	l.until("rolled", func() error {
		var nodes v1alpha1.ValkeyNodeList
		if err := l.kube.List(t.Context(), &nodes); err != nil {
			return err
		}
		for i := range nodes.Items {
			if nodes.Items[i].Status.PendingRevision != "" || nodes.Items[i].Spec.WorkloadRevision == "" {
				return fmt.Errorf("%s is not rolled", nodes.Items[i].Name)
			}
		}
		return l.isState(v1alpha1.StateReady)
	})
	status := l.valkey().Status
	if status.Primary == "v-0" || status.LastFailover == nil || status.LastFailover.Cause != v1alpha1.FailoverCauseRoll {
		t.Errorf("primary %s, last failover %+v", status.Primary, status.LastFailover)
	}
	for i := range 3 {
		at, err := l.processes[naming.SentinelPod(testSet, i)].Sentinel().PrimaryAddr(t.Context(), testName)
		if err != nil || at.Port != l.addressOf(status.Primary).Port {
			t.Errorf("Sentinel %d names %s, %v", i, at, err)
		}
	}
	if data, err := l.processes[status.Primary].Node().Status(t.Context()); err != nil || data.Keys == 0 {
		t.Errorf("the data are gone: %+v, %v", data.Keys, err)
	}
	if events := l.happened(); strings.Count(events, v1alpha1.EventHandedOver) != 1 {
		t.Errorf("events:\n%s", events)
	}
}

func TestWithoutItsSentinelsAPrimaryIsNotHandedOver(t *testing.T) {
	l := monitoredLab(t)
	for i := range 3 {
		l.processes[naming.SentinelPod(testSet, i)].Stop()
	}
	l.until("the loss of the quorum is told", func() error {
		return all(l.wantCondition(v1alpha1.ConditionSentinelQuorumHealthy, metav1.ConditionUnknown, v1alpha1.ReasonSentinelsUnreachable),
			l.wantServiceAt("v-0"))
	})
	l.change(func(spec *v1alpha1.ValkeySpec) { spec.PodAnnotations = map[string]string{"team": "blue"} })
	l.until("the roll is held before the primary", func() error {
		condition := l.condition(v1alpha1.ConditionProgressing)
		if condition.Reason != v1alpha1.ReasonSentinelsUnreachable {
			return errors.New(condition.Reason + ": " + condition.Message)
		}
		return nil
	})
	if err := l.wantPrimary("v-0"); err != nil {
		t.Error(err)
	}
}

// Sentinels that were all away when the primary was lost take no replica, ever: its link has been down for more than ten times down-after
// before they noticed. They agree that it is down, and the controller asks them with what they need to know.
func TestSentinelsThatTakeNoReplicaAreAsked(t *testing.T) {
	l := monitoredLab(t)
	l.fill("v-0", "v-1", "v-2")
	l.broken["v-0"] = true
	for i := range 3 {
		l.processes[naming.SentinelPod(testSet, i)].Kill()
	}
	l.crash("v-0")
	tooLong := 14 * time.Second // ten times the down-after of a second, the second itself, and some
	l.until("the replicas' links are down for long", func() error {
		for _, node := range []string{"v-1", "v-2"} {
			link, err := l.roleOf(node)
			if err != nil {
				return err
			}
			if link.LinkDownFor < tooLong {
				return fmt.Errorf("%s: %s", node, link.LinkDownFor)
			}
		}
		return nil
	})
	for i := range 3 {
		l.processes[naming.SentinelPod(testSet, i)].Start()
	}
	l.until("a replica is primary by the Sentinels' word", func() error {
		status := l.valkey().Status
		if status.Primary == "v-0" || status.LastFailover == nil || status.LastFailover.Cause != v1alpha1.FailoverCauseSentinel {
			return fmt.Errorf("primary %s, last failover %+v", status.Primary, status.LastFailover)
		}
		for i := range 3 {
			sentinel := l.processes[naming.SentinelPod(testSet, i)].Sentinel()
			monitor, err := sentinel.MonitorByName(t.Context(), testName)
			if err != nil {
				return err
			}
			if monitor.Primary.Port != l.addressOf(status.Primary).Port || monitor.DownAfter != time.Second {
				return fmt.Errorf("Sentinel %d: %s, down-after %s", i, monitor.Primary, monitor.DownAfter)
			}
		}
		return nil
	})
	if data, err := l.processes[l.valkey().Status.Primary].Node().Status(t.Context()); err != nil || data.Keys == 0 {
		t.Errorf("the data are gone: %+v, %v", data.Keys, err)
	}
}

// The Sentinel that led a change ended before it told the others: they name a node that follows the primary, and would promote whom they like
// after a while. The controller tells them who is primary, who stays it all the time.
func TestSentinelsThatHaveNotHeardAreTold(t *testing.T) {
	l := monitoredLab(t)
	l.fill("v-0", "v-1", "v-2")
	for i := range 3 { // by themselves they would act only after a minute
		patient := valkeyclient.Setting{Key: "down-after-milliseconds", Value: "60000"}
		if err := l.processes[naming.SentinelPod(testSet, i)].Sentinel().Set(t.Context(), testName, patient); err != nil {
			t.Fatal(err)
		}
	}
	promoted := l.processes["v-1"].Node()
	if err := promoted.ReplicaOfNoOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.processes["v-0"].Node().ReplicaOf(t.Context(), addressFor(l.addressOf("v-1"))); err != nil {
		t.Fatal(err)
	}
	history, err := promoted.Replication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.until("the Sentinels name v-1", func() error {
		for i := range 3 {
			named, err := l.processes[naming.SentinelPod(testSet, i)].Sentinel().PrimaryAddr(t.Context(), testName)
			if err == nil && named.Port != l.addressOf("v-1").Port {
				err = errors.New("another node")
			}
			if err != nil {
				return fmt.Errorf("Sentinel %d: %s, %w", i, named, err)
			}
		}
		return l.isState(v1alpha1.StateReady)
	})
	now, err := promoted.Replication(t.Context())
	if err != nil || now.ReplID != history.ReplID {
		t.Errorf("v-1 was not primary all the time: %s and %s, %v", history.ReplID, now.ReplID, err)
	}
}
