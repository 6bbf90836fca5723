//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// rollWatch looks at a set while it is rolled.
type rollWatch struct {
	set  *framework.Set
	stop chan struct{}
	done sync.WaitGroup
	// mostAway is how many pods were away at once: on their way out, or new and not ready yet. mostPrimaries is how many stood behind the write Service.
	mostAway, mostPrimaries, looks int
	// arrived are the pods that have been ready. One that is not for a moment, because it turns to a new primary, is still there.
	arrived map[types.UID]bool
	// thinSince is since when more than one replica has not been in sync, thinnest the longest such time.
	thinSince time.Time
	thinnest  time.Duration
}

// relinked is how long the replicas may take to follow the new primary after a hand-over, as status tells it: mostly no time, and that of a copy of
// all data where they cannot go on from where they were.
const relinked = 45 * time.Second

func watchRoll(t *testing.T, s *framework.Set) *rollWatch {
	t.Helper()
	w := &rollWatch{set: s, stop: make(chan struct{}), arrived: map[types.UID]bool{}}
	tick := time.NewTicker(200 * time.Millisecond)
	w.done.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
				w.look(t)
			}
		}
	})
	t.Cleanup(func() {
		select {
		case <-w.stop:
		default:
			close(w.stop)
		}
		w.done.Wait()
	})
	return w
}

func (w *rollWatch) look(t *testing.T) {
	vk, err := w.set.Env.Valkey.ValkeyV1alpha1().Valkeys(w.set.Namespace).Get(t.Context(), w.set.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	primaries, err := readyEndpoints(t.Context(), w.set)
	if err != nil {
		return
	}
	pods, err := w.set.Env.Kube.CoreV1().Pods(w.set.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: vk.Status.Selector})
	if err != nil {
		return
	}
	away := int(vk.Spec.Replicas) + 1
	for i := range pods.Items {
		pod := &pods.Items[i]
		w.arrived[pod.UID] = w.arrived[pod.UID] || framework.PodReady(pod)
		if w.arrived[pod.UID] && pod.DeletionTimestamp == nil {
			away--
		}
	}
	w.looks++
	w.mostAway, w.mostPrimaries = max(w.mostAway, away), max(w.mostPrimaries, len(primaries))
	switch isThin := vk.Status.SyncedReplicas < vk.Spec.Replicas-1; {
	case !isThin:
		w.thinSince = time.Time{}
	case w.thinSince.IsZero():
		w.thinSince = time.Now()
	default:
		w.thinnest = max(w.thinnest, time.Since(w.thinSince))
	}
}

func (w *rollWatch) end(t *testing.T) {
	t.Helper()
	close(w.stop)
	w.done.Wait()
	t.Logf("%d looks: at most %d pods away, at most %d behind the write Service, more than one replica not in sync for at most %s", w.looks, w.mostAway, w.mostPrimaries, w.thinnest)
	if w.looks == 0 {
		t.Error("nobody looked")
	}
	if w.mostAway > 1 {
		t.Errorf("%d pods were away at once", w.mostAway)
	}
	if w.thinnest > relinked {
		t.Errorf("more than one replica was not in sync for %s", w.thinnest)
	}
	if w.mostPrimaries > 1 {
		t.Errorf("the write Service led to %d pods", w.mostPrimaries)
	}
}
