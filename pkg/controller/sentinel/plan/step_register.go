// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// retryCredentials is how long after credentials were set they are set again, while a Sentinel still cannot use them.
const retryCredentials = time.Minute

// connecting is how long after the primary's start the replicas of a new set are waited for before it is registered.
const connecting = 20 * time.Second

// mountLag is how long after a change of the boot settings a pod may still see the old ones. The kubelet takes up to about two minutes.
const mountLag = 3 * time.Minute

// stepRegister has every Sentinel that answers monitor every Valkey at its real primary, with the quorum, settings and credentials asked
// for. It works on what each Sentinel says now: one that came back empty is told everything, one that is as it should be nothing. It writes
// nothing about a monitor while a failover is in flight for it, and nothing at all until the primary is known: a monitor that is
// registered at a replica stays wrong for ever. It disrupts nothing.
func stepRegister(d *draft) {
	for i := range d.plan.monitors {
		m := &d.plan.monitors[i]
		missing, misplaced := d.placement(m)
		if len(missing) > 0 {
			d.register(m, missing, misplaced)
		}
		d.adjust(m)
	}
}

// placement is on which of the Sentinels that answer a monitor is missing, and on which it is at another address than the primary's.
func (d *draft) placement(m *monitor) (missing []int, misplaced []held) {
	for _, index := range d.reachable() {
		view, ok := d.Sentinels[index].View.Monitors[m.name]
		if !ok {
			missing = append(missing, index)
		} else if !m.primary.IsZero() && !sameAddress(m.valkey.Members, view.Primary, m.primary) {
			misplaced = append(misplaced, held{index, d.Sentinels[index].Run, view})
		}
	}
	return missing, misplaced
}

func (d *draft) register(m *monitor, missing []int, misplaced []held) {
	switch {
	case m.hold != "":
		d.waiting = true
		d.block(v1alpha1.ReasonFailoverInProgress, "monitor %s is not registered yet: %s", m.name, m.hold)
	case m.mismatch != "":
		d.block(v1alpha1.ReasonTLSMismatch, "monitor %s is not registered: %s", m.name, m.mismatch)
	case m.valkey.HeldBy != "":
		d.waiting = true
		d.block(v1alpha1.ReasonMonitoredByOther, "monitor %s is registered when ValkeySentinel %s has let go of it", m.name, m.valkey.HeldBy)
	case m.primary.IsZero():
		d.block(v1alpha1.ReasonWaitingForPrimary, "monitor %s is not registered yet: %s", m.name, m.why)
	case m.password == "":
		d.block(v1alpha1.ReasonSecretMissing, "monitor %s is not registered yet: the system passwords of Valkey %s are not there", m.name, m.valkey.Object.Name)
	case len(misplaced) > 0 && d.whyNotCorrect(m, misplaced) != "":
		// The others hold another primary, perhaps for a good reason; whatever comes of it, this one will follow.
		d.waiting = true
		d.block(v1alpha1.ReasonSentinelDiffers, "monitor %s is not registered yet: %s", m.name, d.whyNotCorrect(m, misplaced))
	case d.isConnecting(m):
		d.waiting = true
		d.block(v1alpha1.ReasonWaitingForReplicas, "monitor %s is not registered yet: its replicas have not connected to the primary", m.name)
	default:
		d.waiting = true
		for _, index := range missing {
			d.do(d.registration(m, held{index: index, run: d.Sentinels[index].Run}, topology.Address{})...)
		}
	}
}

// isConnecting tells whether the set is just coming up and not all of its replicas have found the primary. A Sentinel asks the primary for its
// replicas when it begins to monitor it and then every ten seconds: registered too early it could not fail over for that long.
func (d *draft) isConnecting(m *monitor) bool {
	if len(d.views(m.name)) > 0 {
		return false
	}
	primary, known := memberAt(m.valkey.Members, m.primary)
	return known && primary.Uptime < connecting && len(primary.Connected) < len(m.valkey.Nodes)-1
}

// registration is all that a new monitor needs.
func (d *draft) registration(m *monitor, at held, replaced topology.Address) []Action {
	actions := []Action{
		Register{Sentinel: at.index, Run: at.run, Monitor: m.name, Primary: m.primary, Quorum: m.quorum, Replaced: replaced},
		d.login(m, at),
	}
	return append(actions, d.settingsDue(m, at, true)...)
}

func (d *draft) login(m *monitor, at held) Action {
	return SetCredentials{Sentinel: at.index, Run: at.run, Monitor: m.name, User: m.user, Password: m.password, Hash: m.hash}
}

// adjust sets what is not as asked for in the monitors that are where they should be.
func (d *draft) adjust(m *monitor) {
	var due []Action
	for _, index := range d.reachable() {
		view, ok := d.Sentinels[index].View.Monitors[m.name]
		if !ok || m.primary.IsZero() || !sameAddress(m.valkey.Members, view.Primary, m.primary) {
			continue
		}
		due = append(due, d.adjustments(m, held{index, d.Sentinels[index].Run, view})...)
	}
	if len(due) == 0 {
		return
	}
	d.waiting = true
	if m.hold != "" {
		d.block(v1alpha1.ReasonFailoverInProgress, "monitor %s is not changed now: %s", m.name, m.hold)
		return
	}
	d.do(due...)
}

func (d *draft) adjustments(m *monitor, at held) []Action {
	var due []Action
	if record, known := d.record(at.run, m.name); known && !record.WrongSince.IsZero() {
		record = record.clone()
		record.WrongSince = time.Time{}
		d.believe(at.run, m.name, record)
	}
	if m.password != "" && d.credentialsDue(m, at) {
		due = append(due, d.login(m, at))
	}
	if at.view.Quorum != m.quorum {
		due = append(due, SetSetting{Sentinel: at.index, Run: at.run, Monitor: m.name, Key: "quorum", Value: strconv.Itoa(m.quorum)})
	}
	return append(due, d.settingsDue(m, at, false)...)
}

// credentialsDue tells whether a Sentinel has to be told how to log in. It does not say what it holds, and one that holds the wrong password
// may look well and yet be unable to fail over: where the nodes' default user is open, it is that user. So it is told whenever we are not
// sure. We are when we told the process ourselves; and when this controller has only just started, about processes that have run for so
// long that they began with the boot settings in force: then nothing is sent.
func (d *draft) credentialsDue(m *monitor, at held) bool {
	record, _ := d.record(at.run, m.name)
	if record.Credentials != "" && record.Credentials != m.hash {
		return true
	}
	if at.view.SubjectDown || at.view.Disconnected {
		weReachIt := m.valkey.Members != nil && !m.primary.IsZero()
		return weReachIt && (!record.Confirmed || d.Now.Sub(record.SetAt) >= retryCredentials)
	}
	if record.Credentials != "" {
		return false
	}
	noted, ok := d.notedMonitor(m.name)
	current := ok && noted.AuthUser == m.user && noted.AuthPass == string(m.password)
	if !current || len(d.Memory) > 0 || d.Sentinels[at.index].Uptime < mountLag {
		return true
	}
	record = record.clone()
	record.Credentials = m.hash
	d.believe(at.run, m.name, record)
	return false
}
