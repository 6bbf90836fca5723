// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const containerServer = naming.ContainerServer

// How long until the next look, when nothing else asks for one.
const (
	// lookSoon is while the running server has something to take up.
	lookSoon = 2 * time.Second
	// lookUnwellFirst and lookUnwellLast bound the looks at a node that is not ready. They grow apart while nothing changes.
	lookUnwellFirst = 2 * time.Second
	lookUnwellLast  = time.Minute
	// lookSteady is while all is well: a role can change without a word to the API.
	lookSteady = 30 * time.Second
)

// Blocked is something that was not done, and why.
type Blocked struct {
	// Kind and Name of the object that it is about.
	Kind Kind
	Name string
	// Reason is one of the API's condition reasons.
	Reason string
	// Message is for people.
	Message string
}

// Plan is what is to be done.
type Plan struct {
	Actions []Action
	// Blocked is what had to wait.
	Blocked []Blocked
	// Memory to keep for the next pass, before the outcomes are added.
	Memory Memory
	// RequeueAfter is when to look again at the latest. Zero: not by itself.
	RequeueAfter time.Duration
	// Log is one line for each decision, for the log.
	Log []string

	// What status says, found on the way.
	revision string
	pending  string
	// configured and acl are where the live configuration and the ACL file stand.
	configured, acl standing
	// encrypted is where TLS stands.
	encrypted standing
	// awaitsConfig: the pod does not have the configuration's file yet.
	awaitsConfig bool
	// waitsForWord: the server does not answer, and status stays as it is for the moment.
	waitsForWord bool
	halted       bool
}

// standing is where something that a running server takes up stands. The zero value means that the server could not be asked.
type standing struct {
	known   bool
	settled bool
	reason  string
	message string
}

// String is all actions, a line each.
func (p Plan) String() string {
	lines := make([]string, 0, len(p.Actions))
	for _, action := range p.Actions {
		lines = append(lines, action.String())
	}
	return strings.Join(lines, "\n")
}

// step decides one concern. Steps run in order; a later one sees what the earlier ones have decided.
type step struct {
	name string
	run  func(*draft)
}

// steps is the order of decisions: what the pod needs, the pod, then what runs in it.
var steps = []step{
	{"terminating", stepTerminating},
	{"claim", stepClaim},
	{"service", stepService},
	{"configmap", stepConfigMap},
	{"workload", stepWorkload},
	{"replace", stepReplace},
	{"silence", stepSilence},
	{"listen", stepListen},
	{"config", stepConfig},
	{"acl", stepACL},
	{"mounts", stepMounts},
	{"pace", stepPace},
}

// draft is a plan in the making.
type draft struct {
	Observed
	plan Plan
	step string
	// soon: the running server has something to take up.
	soon bool
}

// Compute decides. It is total: whatever is observed, it returns a plan and never fails.
func Compute(observed Observed) Plan {
	d := &draft{Observed: observed}
	d.plan.Memory = observed.Memory
	for _, s := range steps {
		d.step = s.name
		s.run(d)
		if d.plan.halted {
			break
		}
	}
	return d.plan
}

// stepTerminating leaves everything to the garbage collector once the node or its namespace goes: nothing new may be made in a namespace
// that is being deleted, and nothing has to be undone.
func stepTerminating(d *draft) {
	if d.Terminating {
		d.logf("the node or its namespace is being deleted")
		d.plan.halted = true
	}
}

// stepPace says when to look again. Most changes come as events; the rest is what only the server knows.
func stepPace(d *draft) {
	switch {
	case d.soon:
		d.plan.RequeueAfter = lookSoon
	case IsReady(d.Pod()) && d.Server.Reach.OK() && len(d.plan.Blocked) == 0:
		d.plan.RequeueAfter = lookSteady
	default:
		d.plan.RequeueAfter = min(max(d.unwellFor()/4, lookUnwellFirst), lookUnwellLast)
	}
}

// unwellFor is how long the node has not been ready.
func (o Observed) unwellFor() time.Duration {
	for _, condition := range o.Node.Status.Conditions {
		if condition.Type == v1alpha1.ConditionReady && condition.Status != metav1.ConditionTrue {
			return o.Now.Sub(condition.LastTransitionTime.Time)
		}
	}
	return 0
}

// child is an object that the node keeps.
type child struct {
	kind Kind
	name string
	// live is what has the name, nil for nothing, and isOurs whether that may be changed.
	live   metav1.Object
	isOurs bool
	// variant tells builds of the same spec apart.
	variant string
	build   func() (runtime.ApplyConfiguration, error)
}

// keep plans to make a child as it is built, unless it already is, or belongs to somebody else.
//
// To build and to compare is most of what a pass costs. A child that was found to be as wanted is not compared again before it, or what it is
// built from, has changed.
func (d *draft) keep(c child) {
	if c.live != nil && !c.isOurs {
		d.block(c.kind, c.name, v1alpha1.ReasonForeignObject, "%s %s is not this node's and is left alone", c.kind, c.name)
		return
	}
	key := d.settledKey(c)
	if key != "" && d.plan.Memory.Settled[c.kind] == key {
		return
	}
	want, err := c.build()
	if err != nil {
		d.block(c.kind, c.name, v1alpha1.ReasonApplyFailed, "%s %s: %v", c.kind, c.name, err)
		return
	}
	live, exists := c.live.(runtime.Object)
	if !exists {
		d.do(Apply{Kind: c.kind, Name: c.name, Config: want, New: true})
		return
	}
	isApplied, err := desired.IsApplied(live, want)
	switch {
	case err != nil:
		d.block(c.kind, c.name, v1alpha1.ReasonApplyFailed, "%s %s: %v", c.kind, c.name, err)
	case isApplied:
		d.plan.Memory = d.plan.Memory.withSettled(c.kind, key)
	default:
		d.do(Apply{Kind: c.kind, Name: c.name, Config: want})
	}
}

// settledKey identifies the live child and everything that it is built from. Empty: there is none.
func (d *draft) settledKey(c child) string {
	if c.live == nil || c.live.GetResourceVersion() == "" {
		return ""
	}
	return fmt.Sprintf("%s %s %s %d %s %v %s", c.live.GetUID(), c.live.GetResourceVersion(),
		d.Node.UID, d.Node.Generation, d.Environment.AgentImage, d.Environment.DNS, c.variant)
}

func (d *draft) do(action Action) {
	d.plan.Actions = append(d.plan.Actions, action)
	d.logf("%s", action)
}

func (d *draft) block(kind Kind, name, reason, format string, args ...any) {
	blocked := Blocked{Kind: kind, Name: name, Reason: reason, Message: fmt.Sprintf(format, args...)}
	d.plan.Blocked = append(d.plan.Blocked, blocked)
	d.logf("%s: %s", reason, blocked.Message)
}

// isBlocked tells whether an object of the kind is in the way.
func (p Plan) isBlocked(kinds ...Kind) bool {
	for _, blocked := range p.Blocked {
		for _, kind := range kinds {
			if blocked.Kind == kind {
				return true
			}
		}
	}
	return false
}

func (d *draft) logf(format string, args ...any) {
	d.plan.Log = append(d.plan.Log, d.step+": "+fmt.Sprintf(format, args...))
}
