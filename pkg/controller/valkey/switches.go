// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// expectations is since when a switch is expected, by Valkey.
type expectations struct {
	switchMu sync.Mutex
	since    map[types.NamespacedName]time.Time
}

// expectSwitch notes that a Sentinel told of a switch.
func (e *expectations) expectSwitch(key types.NamespacedName, now time.Time) {
	e.switchMu.Lock()
	defer e.switchMu.Unlock()
	if e.since == nil {
		e.since = map[types.NamespacedName]time.Time{}
	}
	e.since[key] = now
}

// waitsForSwitch tells whether it is still worth looking again soon.
func (e *expectations) waitsForSwitch(key types.NamespacedName, now time.Time) bool {
	e.switchMu.Lock()
	defer e.switchMu.Unlock()
	since, expected := e.since[key]
	if expected && now.Sub(since) < switchGiveUp {
		return true
	}
	delete(e.since, key)
	return false
}

// switched notes that the switch is over.
func (e *expectations) switched(key types.NamespacedName) {
	e.switchMu.Lock()
	defer e.switchMu.Unlock()
	delete(e.since, key)
}
