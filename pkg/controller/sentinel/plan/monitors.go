// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// monitor is what every Sentinel should hold for one Valkey.
type monitor struct {
	name   string
	valkey *Valkey
	quorum int
	// primary is the real one; zero while it is not known, and why says what is missing.
	primary topology.Address
	why     string
	// hold, where not empty, is why nothing about this monitor may be changed now.
	hold string
	// mismatch, where not empty, is why Sentinels that do not hold the monitor would not see its servers: one speaks TLS, the other plaintext.
	mismatch string
	// settings are all that are to be set, the product's and the user's.
	settings map[string]string
	// user and password log the Sentinels in; hash identifies both.
	user     string
	password Secret
	hash     string
}

// sentinelDefaults are what Sentinel gives a monitor that is registered, and defaultSettings what we do. They are set explicitly, so that a
// setting that is taken out of the spec goes back. Sentinels that elected nobody try again after twice the failover-timeout: with Sentinel's
// own three minutes that would be six without a primary.
var (
	sentinelDefaults = map[string]string{"down-after-milliseconds": "30000", "failover-timeout": "180000", "parallel-syncs": "1"}
	defaultSettings  = map[string]string{"down-after-milliseconds": "30000", "failover-timeout": "30000", "parallel-syncs": "1"}
)

// stepMonitors finds out what every Sentinel should hold: for each Valkey its name, quorum, settings, credentials, and the real primary.
// Of two Valkeys with one monitor name, which the API server lets in only when it could not see the one from the other, the older is
// monitored and the newer left alone.
func stepMonitors(d *draft) {
	taken := map[string]string{}
	for _, valkey := range byAge(d.Valkeys) {
		if holder, ok := taken[valkey.Monitor]; ok {
			d.plan.taken = append(d.plan.taken, fmt.Sprintf("Valkey %s uses the monitor name %s of Valkey %s",
				valkey.Object.Name, valkey.Monitor, holder))
			continue
		}
		taken[valkey.Monitor] = valkey.Object.Name
		d.plan.monitors = append(d.plan.monitors, d.wanted(valkey))
	}
	slices.SortFunc(d.plan.monitors, func(a, b monitor) int { return cmp.Compare(a.name, b.name) })
}

// byAge are the Valkeys from the oldest to the newest, those of one age by name.
func byAge(valkeys []Valkey) []*Valkey {
	sorted := make([]*Valkey, len(valkeys))
	for i := range valkeys {
		sorted[i] = &valkeys[i]
	}
	slices.SortStableFunc(sorted, func(a, b *Valkey) int {
		return a.Object.CreationTimestamp.Compare(b.Object.CreationTimestamp.Time)
	})
	return sorted
}

func (d *draft) wanted(valkey *Valkey) monitor {
	m := monitor{
		name: valkey.Monitor, valkey: valkey, quorum: majority(d.plan.size),
		user: naming.UserSentinel, password: valkey.Password,
	}
	m.hash = credentialsHash(m.user, m.password)
	if spec := valkey.Object.Spec.Failover.Sentinel; spec != nil && spec.Quorum != nil {
		m.quorum = int(*spec.Quorum)
		if m.quorum < majority(d.plan.size) || m.quorum > d.plan.size {
			d.warn(v1alpha1.ReasonQuorumUnwise, "monitor %s: quorum %d of %d Sentinels; a failover is agreed on by the quorum and authorised by a majority (%d)",
				m.name, m.quorum, d.plan.size, majority(d.plan.size))
		}
	}
	m.settings = d.effectiveSettings(valkey)
	m.hold = d.holdOf(valkey)
	m.mismatch = d.mismatchOf(valkey)
	m.primary, m.why = realPrimary(valkey, d.views(valkey.Monitor))
	return m
}

// majority is how many of n Sentinels must be there to authorise a failover.
func majority(n int) int { return n/2 + 1 }

// holdOf says why a monitor must not be touched: a failover is in flight, by the Sentinels' own will or on request.
func (d *draft) holdOf(valkey *Valkey) string {
	for _, at := range d.views(valkey.Monitor) {
		if at.view.FailoverInProgress {
			return fmt.Sprintf("a failover is in flight on Sentinel %d (%s)", at.index, at.view.FailoverState)
		}
	}
	if by, inFlight := (topology.Snapshot{Members: valkey.Members}).FailoverInFlight(""); inFlight {
		return fmt.Sprintf("node %s hands over", by)
	}
	if operation := valkey.Object.Status.Operation; operation != nil && d.Now.Before(operation.ExpiresAt.Time) &&
		(operation.Phase == v1alpha1.OperationPending || operation.Phase == v1alpha1.OperationInProgress) {
		return fmt.Sprintf("%s %s was asked for", operation.Type, operation.UID)
	}
	return ""
}

// held is a monitor as one reachable Sentinel holds it.
type held struct {
	index int
	run   string
	view  topology.MonitorView
}

// views are the monitor as each reachable Sentinel holds it, in the order of their index.
func (o Observed) views(monitor string) []held {
	var found []held
	for i, sentinel := range o.Sentinels {
		if !sentinel.View.Reach.OK() {
			continue
		}
		if view, ok := sentinel.View.Monitors[monitor]; ok {
			found = append(found, held{i, sentinel.Run, view})
		}
	}
	return found
}

// reachable are the indices of the Sentinels that answer, among those that stay.
func (d *draft) reachable() []int {
	var found []int
	for i := range min(d.plan.size, len(d.Sentinels)) {
		if d.Sentinels[i].View.Reach.OK() {
			found = append(found, i)
		}
	}
	return found
}

func credentialsHash(user string, password Secret) string {
	sum := sha256.Sum256([]byte(user + "\x00" + string(password)))
	return hex.EncodeToString(sum[:8])
}
