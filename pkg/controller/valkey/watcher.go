// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// resubscribeFirst and resubscribeLast bound how soon a lost subscription is tried again.
	resubscribeFirst, resubscribeLast = 500 * time.Millisecond, 10 * time.Second
	// rosterPeriod is how often the watcher compares its subscriptions with the Sentinels that there are.
	rosterPeriod = 2 * time.Second
)

// watcher listens to every Sentinel, so that what a failover changes is known when it happens and not at the next look. It runs where the
// controllers run, on the leader.
type watcher struct {
	r *reconciler
	// switches tells the router of Valkeys whose primary changed.
	switches chan<- event.GenericEvent

	mu      sync.Mutex
	running map[types.NamespacedName]context.CancelFunc
}

// NeedLeaderElection makes the watcher run only where the controllers do.
func (*watcher) NeedLeaderElection() bool { return true }

// Start keeps one subscription to each Sentinel until ctx ends.
func (w *watcher) Start(ctx context.Context) error {
	w.running = map[types.NamespacedName]context.CancelFunc{}
	wait.UntilWithContext(ctx, w.compareRoster, rosterPeriod)
	return nil
}

// compareRoster starts and ends subscriptions. It reads the cache and writes nothing.
func (w *watcher) compareRoster(ctx context.Context) {
	var sets v1alpha1.ValkeySentinelList
	if err := w.r.client.List(ctx, &sets, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the ValkeySentinels to listen to")
		return
	}
	wanted := map[types.NamespacedName]listening{}
	for i := range sets.Items {
		set := &sets.Items[i]
		for index, pod := range sentinelNames(set) {
			wanted[types.NamespacedName{Namespace: set.Namespace, Name: pod}] = listening{set: set.Name, address: w.r.sentinelAddress(set, index)}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, cancel := range w.running {
		if _, stays := wanted[key]; !stays {
			cancel()
			delete(w.running, key)
		}
	}
	for key, to := range wanted {
		if _, runs := w.running[key]; !runs {
			ending, cancel := context.WithCancel(ctx)
			w.running[key] = cancel
			go w.listen(ending, key, to)
		}
	}
}

// listening is what is needed to reach a Sentinel.
type listening struct {
	set     string
	address topology.Address
}

// listen keeps a subscription to one Sentinel, with growing pauses while it cannot be had.
func (w *watcher) listen(ctx context.Context, key types.NamespacedName, to listening) {
	pause := resubscribeFirst
	for ctx.Err() == nil {
		heard := w.subscribe(ctx, key, to)
		if heard {
			pause = resubscribeFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, resubscribeLast)
	}
}

// subscribe listens until the connection is lost, and tells whether it ever stood.
func (w *watcher) subscribe(ctx context.Context, key types.NamespacedName, to listening) (heard bool) {
	target, found := w.target(ctx, key, to)
	if !found {
		return false
	}
	sentinel, err := w.r.deps.Valkey.Sentinel(target)
	if err != nil {
		return false
	}
	err = sentinel.Subscribe(ctx, func(message valkeyclient.Event) {
		heard = true
		switch message.Kind {
		case valkeyclient.EventSubscribed:
			// What happened before may have been missed.
			w.tell(ctx, key.Namespace, "")
		case valkeyclient.EventSwitch:
			ctrl.LoggerFrom(ctx).V(1).Info("a Sentinel switched", "sentinel", key.String(), "monitor", message.Monitor, "to", message.New.String())
			w.tell(ctx, key.Namespace, message.Monitor)
		}
	})
	if err != nil && ctx.Err() == nil {
		ctrl.LoggerFrom(ctx).V(2).Info("no longer listening", "sentinel", key.String(), "cause", err.Error())
	}
	return heard
}

// target is the Sentinel at its pod's address.
func (w *watcher) target(ctx context.Context, key types.NamespacedName, to listening) (valkeyclient.Target, bool) {
	pod := &corev1.Pod{}
	if err := w.r.client.Get(ctx, key, pod); err != nil || !mayAnswer(pod, naming.ContainerSentinel) {
		return valkeyclient.Target{}, false
	}
	secret := &corev1.Secret{}
	secretKey := types.NamespacedName{Namespace: key.Namespace, Name: naming.SentinelPasswordsSecret(to.set)}
	if err := w.r.client.Get(ctx, secretKey, secret); err != nil {
		return valkeyclient.Target{}, false
	}
	at := topology.Address{Host: pod.Status.PodIP, Port: to.address.Port}
	encryption, err := w.r.sentinelEncryption(ctx, key.Namespace, to.set)
	if err != nil {
		return valkeyclient.Target{}, false
	}
	return encryption.On(target(key.Name, at, string(secret.Data[naming.UserOperator]))), true
}

// tell wakes the router for the Valkeys of the namespace that are monitored under the name; all of mode Sentinel if it is empty.
func (w *watcher) tell(ctx context.Context, namespace, monitor string) {
	var valkeys v1alpha1.ValkeyList
	if err := w.r.client.List(ctx, &valkeys, client.InNamespace(namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list the Valkeys whose primary may have changed", "namespace", namespace)
		return
	}
	for i := range valkeys.Items {
		valkey := &valkeys.Items[i]
		if valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel || monitor != "" && v1alpha1.EffectiveMonitorName(valkey) != monitor {
			continue
		}
		w.r.expectSwitch(client.ObjectKeyFromObject(valkey), w.r.now())
		select {
		case w.switches <- event.GenericEvent{Object: valkey}:
		case <-ctx.Done():
			return
		}
	}
}
