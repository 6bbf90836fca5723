// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// How soon to look again.
const (
	// Steady is between two looks while nothing is amiss, Watchful while something is, Close while a hand-over runs that no Sentinel tells about.
	Steady   = 8 * time.Second
	Watchful = time.Second
	Close    = 200 * time.Millisecond
	// Attentive is Steady in mode Operator. A primary whose replicas do not acknowledge takes writes only while the controller asks it for
	// something, every 4 s at least (package fence of the agent).
	Attentive = 2500 * time.Millisecond
)

// Plan is what is to be done after one look.
type Plan struct {
	// Actions in order. At most one is disruptive, and it is the last.
	Actions []Action
	// Blocked is what cannot be done now, and why.
	Blocked []Blocked
	// Warnings are about the spec: accepted, and without effect or unwise.
	Warnings []Blocked
	// Verdict is who is primary.
	Verdict Verdict
	// Whole: every node that is wanted is there as its spec asks, ready and in sync, and no other.
	Whole bool
	// RequeueAfter is when to look again even if nothing happens. Quiet: nothing is to be done, and nothing waits for time to pass.
	RequeueAfter time.Duration
	Quiet        bool
	// Memory is what the next pass shall know if all is carried out: see Remember.
	Memory Memory
	// Operation is what becomes of the claimed operation.
	Operation *v1alpha1.OperationStatus
	// encrypted is what the condition of that name says; without a status there is none.
	encrypted finding
	// awaits: what blocks it is that cert-manager has just been asked, and not answered.
	awaits bool
	// Trace says of each step that did something, or did nothing for a reason, what it was.
	Trace []string
}

// Blocked is something that waits, for a reason of v1alpha1.
type Blocked struct {
	Step            string
	Reason, Message string
}

// String is the actions and what is blocked, in order, without any secret.
func (p Plan) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "primary %q confirmed=%v", p.Verdict.Node, p.Verdict.Confirmed)
	for _, action := range p.Actions {
		text.WriteString("; " + action.String())
	}
	for _, b := range p.Blocked {
		fmt.Fprintf(&text, "; blocked %s: %s (%s)", b.Step, b.Message, b.Reason)
	}
	return text.String()
}

// decision is what a step decides.
type decision struct {
	actions  []Action
	blocked  []Blocked
	warnings []Blocked
	// stop: no later step may run.
	stop bool
}

// step is one of the ordered parts of a plan.
type step struct {
	name string
	// tier is the most that the step does. A step beyond safe does not run while somebody else's operation does, a disruptive one not after
	// another disruptive action.
	tier   Tier
	decide func(*pass) decision
	// beside: the step runs beside somebody else's operation, and keeps out of its way itself.
	beside bool
}

// stepNameEncryption is the step whose troubles are troubles of the whole instance.
const stepNameEncryption = "encryption"

// steps are in order: what makes the instance safe first, what takes something away last.
func steps() []step {
	return []step{
		{name: "operation", tier: TierSafe, decide: stepOperation},
		{name: "certificate", tier: TierSafe, decide: stepCertificate},
		{name: stepNameEncryption, tier: TierSafe, decide: stepEncryption},
		{name: "warnings", tier: TierSafe, decide: stepWarnings},
		{name: "passwords", tier: TierSafe, decide: stepPasswords},
		{name: "acl", tier: TierSafe, decide: stepACL},
		{name: "config", tier: TierSafe, decide: stepConfig},
		{name: "nodes", tier: TierSafe, decide: stepNodes},
		{name: "access", tier: TierSafe, decide: stepAccess},
		{name: "services", tier: TierSafe, decide: stepServices},
		{name: "budget", tier: TierSafe, decide: stepBudget},
		{name: "networkPolicy", tier: TierSafe, decide: stepNetworkPolicy},
		{name: "route", tier: TierSafe, decide: stepRoute},
		{name: "failover", tier: TierDisruptive, decide: stepFailover},
		{name: "replication", tier: TierOnline, decide: stepReplication, beside: true},
		{name: "strays", tier: TierOnline, decide: stepStrays},
		{name: "scale", tier: TierDisruptive, decide: stepScale},
		{name: "roll", tier: TierDisruptive, decide: stepRoll},
	}
}

// pass is one planning: the look, and what has been concluded from it so far.
type pass struct {
	o       *Observed
	verdict Verdict
	plan    *Plan
	// isApplied compares live children with wanted ones.
	isApplied comparer
	// claimed: an operation that was claimed is fresh; it goes first.
	claimed bool
	// missing: a child that nodes need is not there and cannot be made now.
	missing bool
	// certificate is what cert-manager is to be asked for; nil for nothing.
	certificate *unstructured.Unstructured
}

// comparer tells whether a live object is as wanted.
type comparer func(live runtime.Object, want runtime.ApplyConfiguration) (bool, error)

// Compute is what is to be done after a look. It always has an answer.
func Compute(o Observed) Plan { return compute(o, steps(), desired.IsApplied) }

func compute(o Observed, steps []step, isApplied comparer) Plan {
	plan := Plan{RequeueAfter: Steady, Memory: o.Memory}
	if o.Terminating {
		return Plan{Memory: o.Memory, Operation: o.Valkey.Status.Operation}
	}
	certificate := o.wantedCertificate()
	o = o.issued()
	e := o.encryption()
	o = o.staged(e)
	p := &pass{o: &o, verdict: judge(&o), plan: &plan, isApplied: isApplied, missing: e.missing, certificate: certificate}
	plan.encrypted, plan.awaits, plan.Memory.Served = e.finding, e.awaits, o.nowServed()
	plan.Verdict = p.verdict
	p.remember()
	disruptive := false
	for _, s := range steps {
		switch {
		case s.tier > TierSafe && p.claimed && !s.beside:
			p.trace(s.name, "waits for the operation that is claimed")
			continue
		case s.tier == TierDisruptive && disruptive:
			continue
		}
		d := s.decide(p)
		for i := range d.blocked {
			d.blocked[i].Step = s.name
			p.trace(s.name, d.blocked[i].Message)
		}
		for _, action := range d.actions {
			p.trace(s.name, action.String())
			disruptive = disruptive || action.Tier() == TierDisruptive
		}
		plan.Actions = append(plan.Actions, d.actions...)
		plan.Blocked = append(plan.Blocked, d.blocked...)
		plan.Warnings = append(plan.Warnings, d.warnings...)
		if d.stop || disruptive {
			break
		}
	}
	plan.Whole = p.isWhole()
	plan.RequeueAfter, plan.Quiet = p.requeue()
	return plan
}

func (p *pass) trace(step, text string) { p.plan.Trace = append(p.plan.Trace, step+": "+text) }

// wanted are the nodes that exist and shall, surplus those that exist and shall not, both by index.
func (p *pass) wanted() []Node {
	count := wantedNodes(p.o.Valkey)
	for i, n := range p.o.Nodes {
		if n.Index >= count {
			return p.o.Nodes[:i]
		}
	}
	return p.o.Nodes
}

func (p *pass) surplus() []Node { return p.o.Nodes[len(p.wanted()):] }

func (p *pass) member(n Node) topology.Member {
	m, _ := p.o.Snapshot.Member(n.Object.Name)
	return m
}

// remember carries on what only passing time or earlier looks tell.
func (p *pass) remember() {
	memory := &p.plan.Memory
	m, known := p.o.Snapshot.Member(p.verdict.Node)
	if known && isPrimary(m) && p.verdict.Confirmed {
		memory.PrimaryKnown, memory.PrimaryKeys = true, m.Keys
		memory.PrimaryHistory, memory.PrimaryHistoryOf = m.ReplID, m.Name
	}
	p.followRoll()
	p.followCopies()
	p.followRoute()
	_, behind := p.behind()
	sinceWhen(&memory.AwaySince, p.isAway(), p.o.Now)
	sinceWhen(&memory.BehindSince, behind != "", p.o.Now)
}

// sinceWhen keeps since when something is so; zero while it is not.
func sinceWhen(since *time.Time, isSo bool, now time.Time) {
	switch {
	case !isSo:
		*since = time.Time{}
	case since.IsZero():
		*since = now
	}
}

// isAway tells whether nobody serves as primary, and it is not just starting.
func (p *pass) isAway() bool {
	switch {
	case p.verdict.Confirmed, p.verdict.Reason == v1alpha1.ReasonBootstrapping:
		return false
	case p.verdict.Node == "":
		return false
	}
	m, _ := p.o.Snapshot.Member(p.verdict.Node)
	return isGone(m) || m.Reach.OK() && m.Role == topology.RoleReplica
}

// requeue says when to look again, and whether nothing is amiss.
func (p *pass) requeue() (after time.Duration, quiet bool) {
	switch {
	case p.claimed && p.o.Valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel:
		return Close, false
	case len(p.plan.Actions) > 0, len(p.plan.Blocked) > 0, p.claimed, p.verdict.InFlight, !p.verdict.Confirmed, !p.plan.Whole,
		p.plan.Memory.Left != "", !p.plan.Memory.OverlapSince.IsZero(),
		p.plan.encrypted.reason == v1alpha1.ReasonSwitchingTLS, p.plan.encrypted.reason == v1alpha1.ReasonCertificateNotServed:
		return Watchful, false
	case p.o.Valkey.Spec.Failover.Mode == v1alpha1.FailoverModeOperator && p.o.Valkey.Spec.Replicas > 0:
		// Nobody else notices that the primary is lost.
		return min(Attentive, max(Watchful, p.downAfter()/4)), true
	}
	return Steady, true
}

// Judge says who is primary, for passes that do nothing but lead clients.
func Judge(o Observed) Verdict { return judge(&o) }
