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
	halted          bool
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
	{"config", stepConfig},
	{"acl", stepACL},
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

// apply plans to make a child as want says, unless it already is, or belongs to somebody else. It tells whether the child is ours, or is
// about to be.
func (d *draft) apply(kind Kind, live metav1.Object, want runtime.ApplyConfiguration, isOurs bool) bool {
	name := nameOf(want)
	if live == nil {
		d.do(Apply{Kind: kind, Name: name, Config: want, New: true})
		return true
	}
	if !isOurs {
		d.block(kind, name, v1alpha1.ReasonForeignObject, "%s %s is not this node's and is left alone", kind, name)
		return false
	}
	object, ok := live.(runtime.Object)
	if !ok {
		return false
	}
	applied, err := desired.IsApplied(object, want)
	if err != nil {
		d.block(kind, name, v1alpha1.ReasonApplyFailed, "%s %s: %v", kind, name, err)
		return true
	}
	if !applied {
		d.do(Apply{Kind: kind, Name: name, Config: want})
	}
	return true
}

func nameOf(want runtime.ApplyConfiguration) string {
	if named, ok := want.(interface{ GetName() *string }); ok && named.GetName() != nil {
		return *named.GetName()
	}
	return ""
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
