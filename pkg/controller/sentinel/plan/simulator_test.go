// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

var errRefused = errors.New("refused")

// observe is what the controller would see.
func (w *world) observe() Observed {
	ctx, get := context.Background(), metav1.GetOptions{}
	o := Observed{
		Now: w.now, Set: w.set, Memory: w.memory, Settled: w.settled,
		Environment: Environment{AgentImage: "agent:1", DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: testDomain}, SystemNamespace: "system"},
	}
	o.Objects.Passwords = live(w.kube.CoreV1().Secrets(testNamespace).Get(ctx, naming.SentinelPasswordsSecret(testSet), get))
	o.Objects.Boot = live(w.kube.CoreV1().Secrets(testNamespace).Get(ctx, naming.SentinelBootSecret(testSet), get))
	o.Noted = NotedSettings(w.set, o.Objects.Boot)
	o.Objects.Service = live(w.kube.CoreV1().Services(testNamespace).Get(ctx, naming.SentinelWorkload(testSet), get))
	o.Objects.Budget = live(w.kube.PolicyV1().PodDisruptionBudgets(testNamespace).Get(ctx, naming.SentinelWorkload(testSet), get))
	o.Objects.Role = live(w.kube.RbacV1().Roles(testNamespace).Get(ctx, naming.SentinelAPIServerRole(testSet), get))
	o.Objects.RoleBinding = live(w.kube.RbacV1().RoleBindings(testNamespace).Get(ctx, naming.SentinelAPIServerRole(testSet), get))
	o.Objects.Workload = w.workload()
	for _, object := range []metav1.Object{o.Objects.Service, o.Objects.Budget, o.Objects.Role, o.Objects.RoleBinding, o.Objects.Boot} {
		if object != nil && !reflect.ValueOf(object).IsNil() {
			object.SetResourceVersion(fmt.Sprint(w.applied))
		}
	}
	o.Objects.Pods = map[string]*corev1.Pod{}
	for name, pod := range w.pods {
		o.Objects.Pods[name] = pod.DeepCopy()
	}
	for i := range max(o.currentSize(), int(w.set.Spec.Replicas)) {
		o.Sentinels = append(o.Sentinels, w.look(i))
	}
	for _, name := range slices.Sorted(maps.Keys(w.valkeys)) {
		if valkey := w.valkeys[name]; valkey.selected {
			seen := Valkey{
				Object: valkey.object, Monitor: v1alpha1.EffectiveMonitorName(valkey.object), Password: Secret(valkey.password), Nodes: w.endpoints(valkey),
			}
			if NeedsLook(o, seen) {
				seen.Members = w.members(valkey)
			}
			o.Valkeys = append(o.Valkeys, seen)
		}
	}
	return o
}

// live is an object, if there is one.
func live[T any](object *T, err error) *T {
	if err != nil {
		return nil
	}
	return object
}

func (w *world) members(valkey *modelValkey) []topology.Member {
	members := []topology.Member{}
	for i, node := range valkey.nodes {
		member := topology.Member{Name: naming.NodeName(valkey.object.Name, i), Address: node.address, Reach: topology.Reach{Class: topology.ReachUnreachable}}
		if node.up {
			member.Reach.Class = topology.ReachOK
			member.Role, member.Uptime = topology.RoleReplica, w.now.Sub(node.upSince)
			if node.primary {
				member.Role, member.Connected = topology.RolePrimary, valkey.connectedTo(node)
			} else {
				primary := valkey.primary()
				member.Primary, member.LinkUp = node.follows, primary != nil && primary.up && primary.address == node.follows
			}
		}
		members = append(members, member)
	}
	return members
}

func (v *modelValkey) connectedTo(primary *modelNode) []topology.ConnectedReplica {
	var connected []topology.ConnectedReplica
	for _, node := range v.nodes {
		if node.up && node.follows == primary.address {
			connected = append(connected, topology.ConnectedReplica{Address: node.address})
		}
	}
	return connected
}

func (w *world) look(index int) Sentinel {
	name := naming.SentinelPod(testSet, index)
	seen := Sentinel{View: topology.SentinelView{Name: name, Reach: topology.Reach{Class: topology.ReachUnreachable}}}
	sentinel, ok := w.sentinels[index]
	if !ok || sentinel.silent {
		return seen
	}
	if sentinel.locked {
		seen.View.Reach.Class = topology.ReachAuth
		return seen
	}
	seen.Uptime = w.now.Sub(sentinel.bornAt)
	seen.Run, seen.View.Reach.Class, seen.View.MyID, seen.View.Monitors = sentinel.run, topology.ReachOK, w.id(index), map[string]topology.MonitorView{}
	for name, m := range sentinel.monitors {
		seen.View.Monitors[name] = w.monitorView(name, m)
	}
	return seen
}

func (w *world) monitorView(name string, m *modelMonitor) topology.MonitorView {
	at := topology.MonitorView{
		Primary: m.primary, ConfigEpoch: m.epoch, Quorum: m.quorum, FailoverInProgress: m.failover, NumOtherSentinels: len(m.peers),
		Settings: map[string]string{}, Flags: []string{"master"}, ReportedRole: topology.RolePrimary, SubjectDown: true, Disconnected: true,
	}
	for key, value := range m.settings {
		if key != "master-reboot-down-after-period" {
			at.Settings[key] = value
		}
	}
	for _, valkey := range w.valkeys {
		for _, node := range valkey.nodes {
			if node.address == m.primary && node.up && valkey.letsIn(m) {
				at.SubjectDown, at.Disconnected = false, false
				if !node.primary {
					at.ReportedRole = topology.RoleReplica
				}
			}
		}
	}
	usable := 1
	for id := range m.peers {
		peer := topology.PeerView{ID: id, SubjectDown: true}
		for index, other := range w.sentinels {
			if _, monitors := other.monitors[name]; w.id(index) == id && monitors {
				peer.SubjectDown = false
				usable++
			}
		}
		at.Peers = append(at.Peers, peer)
	}
	for address, since := range m.replicas {
		if !w.now.Before(since) {
			at.Replicas = append(at.Replicas, topology.ReplicaView{Address: address, SubjectDown: !w.isUp(address)})
		}
	}
	at.NumReplicas = len(at.Replicas)
	at.QuorumUsable, at.QuorumOK = usable, usable >= max(m.quorum, majority(len(m.peers)+1))
	at.QuorumMessage = fmt.Sprintf("%v %d usable Sentinels", at.QuorumOK, usable)
	return at
}

func (w *world) isUp(address topology.Address) bool {
	for _, valkey := range w.valkeys {
		for _, node := range valkey.nodes {
			if node.address == address {
				return node.up
			}
		}
	}
	return false
}

// pass is one round of the controller. It checks what must hold for every plan.
func (w *world) pass() Plan {
	w.t.Helper()
	observed := w.observe()
	done := Compute(observed)
	w.checkPlan(observed, done)
	var outcomes []Outcome
	failed := false
	for _, action := range done.Actions {
		outcome := Outcome{Action: action, Skipped: failed && action.Tier() == TierDisruptive}
		if !outcome.Skipped {
			outcome.Err = w.carryOut(action)
			failed = failed || outcome.Err != nil
			w.writes++
		}
		if errors.Is(outcome.Err, errRefused) {
			outcome.Refused = "ERR Invalid argument"
		}
		outcomes = append(outcomes, outcome)
	}
	w.memory, w.settled = Learn(observed, done, outcomes), done.Settled
	status := Status(observed, done, outcomes, w.memory)
	w.set.Status = status
	w.last = done
	said := fmt.Sprintf("%s %v %+v %+v %+v", done, done.Log, done.Blocked, done.Actions, status)
	for _, valkey := range w.valkeys {
		if strings.Contains(said, valkey.password) || strings.Contains(said, "password-of-") {
			w.t.Errorf("a password is told: %s", said)
		}
	}
	return done
}

// checkPlan are the properties of every plan, whatever has happened.
func (w *world) checkPlan(observed Observed, done Plan) {
	w.t.Helper()
	disruptive := 0
	for _, action := range done.Actions {
		if action.Tier() == TierDisruptive {
			disruptive++
		}
		switch action := action.(type) {
		case Register:
			primary := w.valkeyOf(action.Monitor).primary()
			if primary == nil || !primary.up || primary.address != action.Primary {
				w.t.Errorf("%s: that is not a primary that can be reached", action)
			}
		case ReplacePod:
			w.checkOthers(action.Sentinel, action.Broken, action)
		case Scale:
			if action.To < action.From {
				w.checkOthers(action.To, false, action)
			}
		case Reset:
			for _, name := range action.Monitors {
				for i, sentinel := range w.sentinels {
					if i != action.Sentinel && w.monitorView(name, sentinel.monitors[name]).NumReplicas < len(w.valkeyOf(name).nodes)-1 {
						w.t.Errorf("%s: Sentinel %d does not know the replicas", action, i)
					}
				}
			}
		}
		if index, ok := SentinelOf(action); ok {
			w.checkFlight(index, action)
		}
	}
	if disruptive > 1 {
		w.t.Errorf("%d disruptive actions in one plan:\n%s", disruptive, done)
	}
}

// checkOthers demands that those that stay could still fail over every monitor, unless the one that goes did nothing.
func (w *world) checkOthers(leaving int, broken bool, action Action) {
	if broken {
		return
	}
	for i, sentinel := range w.sentinels {
		for name, m := range sentinel.monitors {
			valkey, wanted := w.valkeys[name]
			at := w.monitorView(name, m)
			if i != leaving && (wanted && valkey.selected && !at.QuorumOK || at.FailoverInProgress || sentinel.silent) {
				w.t.Errorf("%s: Sentinel %d has no quorum for %s, is in a failover or silent", action, i, name)
			}
		}
	}
}

func (w *world) checkFlight(index int, action Action) {
	name := ""
	switch action := action.(type) {
	case Register:
		name = action.Monitor
	case Remove:
		name = action.Monitor
	case SetCredentials:
		name = action.Monitor
	case SetSetting:
		name = action.Monitor
	}
	for _, sentinel := range w.sentinels {
		if m, ok := sentinel.monitors[name]; ok && m.failover && !sentinel.silent {
			w.t.Errorf("%s: a failover is in flight", action)
		}
	}
	if sentinel, ok := w.sentinels[index]; !ok || sentinel.silent {
		w.t.Errorf("%s: that Sentinel does not answer", action)
	}
}

func (w *world) valkeyOf(monitor string) *modelValkey {
	for _, valkey := range w.valkeys {
		if v1alpha1.EffectiveMonitorName(valkey.object) == monitor {
			return valkey
		}
	}
	w.t.Fatalf("no Valkey has the monitor %s", monitor)
	return nil
}

// carryOut is what the controller, the API and the Sentinels make of an action.
func (w *world) carryOut(action Action) error {
	switch action := action.(type) {
	case Apply:
		return w.apply(action.Config)
	case Scale:
		return w.apply(action.Config)
	case Delete:
		return w.kube.PolicyV1().PodDisruptionBudgets(testNamespace).Delete(context.Background(), action.Name, metav1.DeleteOptions{})
	case GeneratePasswords:
		return w.generate(action)
	case ReplacePod:
		now := metav1.NewTime(w.now)
		w.pods[action.Name].DeletionTimestamp = &now
		delete(w.sentinels, action.Sentinel)
		return nil
	default:
		return w.tell(action)
	}
}

func (w *world) generate(action GeneratePasswords) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: action.Name, Namespace: testNamespace, OwnerReferences: []metav1.OwnerReference{*w.owner()}}, Data: map[string][]byte{}}
	for _, user := range action.Users {
		secret.Data[user] = []byte("password-of-" + user)
	}
	secret.CreationTimestamp = metav1.NewTime(w.now)
	_, err := w.kube.CoreV1().Secrets(testNamespace).Create(context.Background(), secret, metav1.CreateOptions{})
	return err
}

func (w *world) owner() *metav1.OwnerReference {
	return metav1.NewControllerRef(w.set, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkeySentinel))
}

func (w *world) tell(action Action) error {
	index, _ := SentinelOf(action)
	sentinel := w.sentinels[index]
	switch action := action.(type) {
	case Register:
		if _, exists := sentinel.monitors[action.Monitor]; exists {
			return fmt.Errorf("duplicate monitor")
		}
		sentinel.monitors[action.Monitor] = newModelMonitor(action.Primary, action.Quorum, "", nil)
	case Remove:
		delete(sentinel.monitors, action.Monitor)
	case SetCredentials:
		sentinel.monitors[action.Monitor].password = string(action.Password)
	case SetSetting:
		m := sentinel.monitors[action.Monitor]
		switch {
		case action.Key == "parallel-syncs" && action.Value == "0":
			return errRefused
		case action.Key == "quorum":
			_, err := fmt.Sscan(action.Value, &m.quorum)
			return err
		}
		m.settings[action.Key] = action.Value
	case Reset:
		for _, name := range action.Monitors {
			sentinel.monitors[name].peers = map[string]bool{}
			sentinel.monitors[name].replicas = map[topology.Address]time.Time{}
		}
	}
	return nil
}

// settle runs until nothing is left to do, and fails after too long. It returns how many seconds it took.
func (w *world) settle() int {
	w.t.Helper()
	quiet := 0
	for i := range 400 {
		if done := w.pass(); len(done.Actions) == 0 && len(done.Blocked) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if quiet > 3 {
			return i
		}
		w.tick()
	}
	w.t.Fatalf("not settled; last plan:\n%s\nblocked: %+v\nstatus: %+v", w.last, w.last.Blocked, w.set.Status)
	return 0
}
