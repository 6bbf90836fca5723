// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long until the next look, when nothing else asks for one.
const (
	// lookSoon is while something is awaited that takes seconds.
	lookSoon = time.Second
	// lookUnwell is while something is amiss that may take long.
	lookUnwell = 3 * time.Second
	// lookSteady is while all is well. The Sentinels do their work without us.
	lookSteady = 8 * time.Second
)

// Blocked is something that was not done, and why.
type Blocked struct {
	// Step that would have done it.
	Step string
	// Reason is one of the API's condition reasons.
	Reason string
	// Message is for people.
	Message string
}

// Plan is what is to be done.
type Plan struct {
	// Actions in order; those of a higher tier come later.
	Actions []Action
	// Blocked is what had to wait.
	Blocked []Blocked
	// Believed are records of the memory to take over without an action.
	Believed map[Key]Record
	// Settled is, by kind and name, the version of each child that was found to be as it should be.
	Settled map[string]string
	// RequeueAfter is when to look again at the latest. Zero: not by itself.
	RequeueAfter time.Duration
	// Log is one line for each decision, for the log.
	Log []string

	// What status says, found on the way.
	size     int
	monitors []monitor
	revision string
	// encrypted is what the condition of that name says; without a status there is none.
	encrypted metav1.Condition
	// awaits: cert-manager has been asked for a certificate, and nothing depends on its answer yet.
	awaits bool
	// rolling is how many pods are outdated.
	rolling  int
	warnings []warning
	// strange are objects with our names that are not ours; foreign are monitors and Sentinels that are not ours; taken are monitor names
	// that two Valkeys want.
	strange, foreign, taken []string
	halted                  bool
}

// String is all actions, a line each.
func (p Plan) String() string {
	lines := make([]string, 0, len(p.Actions))
	for _, action := range p.Actions {
		lines = append(lines, action.String())
	}
	return strings.Join(lines, "\n")
}

// warning is something about the spec that a person should know.
type warning struct{ reason, message string }

// step decides one concern. Steps run in order; a later one sees what the earlier ones have decided.
type step struct {
	name string
	run  func(*draft)
}

// steps is the order of decisions: what the Sentinels need to start, then what they watch, then what takes one of them away.
var steps = []step{
	{"terminating", stepTerminating},
	{"passwords", stepPasswords},
	{"certificate", stepCertificate},
	{"encryption", stepEncryption},
	{"scale", stepScale},
	{"monitors", stepMonitors},
	{"boot", stepBoot},
	{"objects", stepObjects},
	{"workload", stepWorkload},
	{"register", stepRegister},
	{"correct", stepCorrect},
	{"remove", stepRemove},
	{"forget", stepForget},
	{"shrink", stepShrink},
	{"roll", stepRoll},
	{"pace", stepPace},
}

// draft is a plan in the making.
type draft struct {
	Observed
	plan Plan
	step string
	// disruptive is what takes a Sentinel away in this plan, if anything does.
	disruptive bool
	// withoutCertificate: pods that need one cannot be made.
	withoutCertificate bool
	// waiting: something is awaited that takes seconds. unwell: something is amiss.
	waiting, unwell bool
}

// Compute decides. It is total: whatever is observed, it returns a plan and never fails.
func Compute(observed Observed) Plan {
	d := &draft{Observed: observed, plan: Plan{Believed: map[Key]Record{}, Settled: map[string]string{}}}
	for _, s := range steps {
		d.step = s.name
		s.run(d)
		if d.plan.halted {
			break
		}
	}
	return d.plan
}

// stepTerminating leaves everything to the garbage collector once the set or its namespace goes: nothing new may be made in a namespace
// that is being deleted, and nothing has to be undone.
func stepTerminating(d *draft) {
	if d.Terminating {
		d.logf("the set or its namespace is being deleted")
		d.plan.halted = true
	}
}

// stepPace says when to look again.
func stepPace(d *draft) {
	for i := range d.plan.size {
		if !d.reachOf(i).OK() {
			d.unwell = true
			continue
		}
		for _, view := range d.Sentinels[i].View.Monitors {
			d.unwell = d.unwell || !isQuiet(view)
			// Right after a monitor was registered the Sentinels find each other within two seconds.
			d.waiting = d.waiting || !view.QuorumOK
		}
	}
	switch {
	case d.waiting:
		d.plan.RequeueAfter = lookSoon
	case d.unwell || len(d.plan.Blocked) > 0:
		d.plan.RequeueAfter = lookUnwell
	default:
		d.plan.RequeueAfter = lookSteady
	}
}

func (d *draft) do(actions ...Action) {
	for _, action := range actions {
		if action.Tier() == TierDisruptive {
			d.disruptive = true
		}
		d.plan.Actions = append(d.plan.Actions, action)
	}
}

func (d *draft) block(reason, format string, args ...any) {
	blocked := Blocked{Step: d.step, Reason: reason, Message: fmt.Sprintf(format, args...)}
	d.plan.Blocked = append(d.plan.Blocked, blocked)
	d.logf("%s: %s", reason, blocked.Message)
}

func (d *draft) warn(reason, format string, args ...any) {
	d.plan.warnings = append(d.plan.warnings, warning{reason, fmt.Sprintf(format, args...)})
}

func (d *draft) logf(format string, args ...any) {
	d.plan.Log = append(d.plan.Log, d.step+": "+fmt.Sprintf(format, args...))
}

// record is what is known of a monitor in a Sentinel process, with what this plan has come to believe.
func (d *draft) record(run, monitor string) (Record, bool) {
	key := Key{Run: run, Monitor: monitor}
	if record, ok := d.plan.Believed[key]; ok {
		return record, true
	}
	record, ok := d.Memory[key]
	return record, ok
}

func (d *draft) believe(run, monitor string, record Record) {
	d.plan.Believed[Key{Run: run, Monitor: monitor}] = record
}
