// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"reflect"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// digest identifies everything in a look that a plan depends on, except what moves while nothing happens: offsets, key counts above zero, how
// long ago somebody was heard. If it is the same as after a pass that had nothing to do, there is still nothing to do, and neither planning nor
// comparing objects is needed.
func (l *look) digest() string {
	sum := sha256.New()
	version(sum, l.Valkey)
	objects := l.Objects
	for _, object := range []client.Object{
		objects.Passwords, objects.PasswordsCopy, objects.ACL, objects.Config, objects.Service, objects.Primary, objects.Replicas, objects.Endpoints, objects.Budget,
		objects.NetworkPolicy, objects.Role, objects.RoleBinding, l.Monitoring.Set,
	} {
		version(sum, object)
	}
	for i := range l.Valkey.Spec.Users {
		if reference := l.Valkey.Spec.Users[i].PasswordSecret; reference != nil {
			version(sum, objects.UserSecrets[reference.Name])
		}
	}
	for _, n := range l.Nodes {
		version(sum, n.Object)
		version(sum, n.Pod)
	}
	for _, pod := range l.Leaving {
		version(sum, pod)
	}
	line(sum, objects.ForeignNodes, l.Monitoring.Conflicting, hash32(string(l.Monitoring.AgentPassword)))
	line(sum, l.Certificate, l.Issuance.Lacking, l.Issuance.UsedBy)
	version(sum, l.Issuance.Live)
	for _, m := range l.Snapshot.Members {
		line(sum, m.Listeners, l.Served[m.Name], m.Name, m.Address, m.Reach.Class, m.Role, m.Primary, m.LinkUp, m.Syncing, m.ReplID, m.Priority, m.FailoverState,
			m.HasData(), m.Loading, m.RunID, len(m.Connected), m.Persistence.AOFLastWriteOK, m.Persistence.RDBLastSaveOK, m.Persistence.AOFEnabled,
			m.Full, m.WantsReplicas)
	}
	for _, s := range l.Snapshot.Sentinels {
		line(sum, s.Name, s.Reach.Class, s.MyID)
		for _, name := range slices.Sorted(maps.Keys(s.Monitors)) {
			view := s.Monitors[name]
			line(sum, name, view.Primary, view.ConfigEpoch, view.Quorum, view.FailoverInProgress, view.NumOtherSentinels, view.NumReplicas,
				view.QuorumOK, view.QuorumUsable, view.QuorumMessage)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// line adds to the digest. A hash takes everything.
func line(sum hash.Hash, words ...any) { _, _ = fmt.Fprintln(sum, words...) }

func version(sum hash.Hash, object client.Object) {
	if object == nil || reflect.ValueOf(object).IsNil() {
		line(sum, "-")
		return
	}
	line(sum, object.GetUID(), object.GetResourceVersion())
}

func hash32(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
