// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const (
	modeNone     = v1alpha1.FailoverModeNone
	modeOperator = v1alpha1.FailoverModeOperator
	modeSentinel = v1alpha1.FailoverModeSentinel
)

func TestJudge(t *testing.T) {
	primaryToo := func(m *topology.Member) {
		m.Role, m.Primary, m.ReplID = topology.RolePrimary, topology.Address{}, "other"
	}
	empty := func(m *topology.Member) { m.Keys, m.ReplID, m.Offset = 0, "fresh", 0 }
	cases := map[string]struct {
		o                  Observed
		node, reason       string
		confirmed, settled bool
	}{
		"healthy":                     {o: given(modeOperator, 2), node: "v-0", confirmed: true},
		"nobody yet":                  {o: given(modeOperator, 1, func(o *Observed) { o.Valkey.Status.Primary = ""; o.Snapshot.Members = nil }), reason: v1alpha1.ReasonBootstrapping},
		"the primary does not answer": {o: given(modeOperator, 1, member(0, unreachable)), node: "v-0", reason: v1alpha1.ReasonPrimaryUnreachable},
		"the primary loads":           {o: given(modeOperator, 1, member(0, func(m *topology.Member) { m.Reach.Class, m.Loading = topology.ReachLoading, true })), node: "v-0", reason: v1alpha1.ReasonLoading},
		"the primary refuses us":      {o: given(modeOperator, 1, member(0, func(m *topology.Member) { m.Reach.Class = topology.ReachAuth })), node: "v-0", reason: v1alpha1.ReasonAuthFailed},
		"of two the one on record":    {o: given(modeNone, 2, member(1, primaryToo)), node: "v-0", confirmed: true},
		"of two the one with data":    {o: given(modeNone, 1, member(1, primaryToo), member(0, empty)), node: "v-1", confirmed: true},
		"of two unknown ones neither": {o: given(modeNone, 2, member(1, primaryToo), func(o *Observed) { o.Valkey.Status.Primary = "" }), reason: v1alpha1.ReasonSeveralPrimaries},
		"another one than on record":  {o: given(modeNone, 1, member(0, unreachable), member(1, primaryToo)), node: "v-1", confirmed: true},
		"a former one, while its successor is away": {o: given(modeOperator, 1, member(1, primaryToo), func(o *Observed) { o.Valkey.Status.Primary = "v-0" },
			member(0, unreachable), seenAs("v-0", "promoted")), node: "v-0", reason: v1alpha1.ReasonPrimaryUnreachable},
		"one that was promoted in its place": {o: given(modeOperator, 1, member(1, primaryToo, func(m *topology.Member) { m.ReplID2 = "promoted" }),
			member(0, unreachable), seenAs("v-0", "promoted")), node: "v-1", confirmed: true},
		"empty beside data":            {o: given(modeNone, 1, member(0, empty), member(1, unlinked)), node: "v-0", reason: v1alpha1.ReasonPrimaryEmpty},
		"emptied on purpose":           {o: given(modeNone, 1, member(0, func(m *topology.Member) { m.Keys = 0 }), member(1, unlinked)), node: "v-0", confirmed: true},
		"all are replicas":             {o: given(modeNone, 1, member(0, func(m *topology.Member) { m.Role, m.Primary = topology.RoleReplica, address(1) })), node: "v-0", reason: v1alpha1.ReasonNoPrimary},
		"the Sentinels' word":          {o: given(modeSentinel, 2, member(1, primaryToo)), node: "v-0", confirmed: true},
		"the newest Sentinel's word":   {o: given(modeSentinel, 2, member(1, primaryToo), sentinelSays(2, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 2 })), node: "v-1", confirmed: true},
		"the Sentinels name a replica": {o: given(modeSentinel, 1, sentinelSays(2, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 2 })), node: "v-1", reason: v1alpha1.ReasonSentinelDiffers},
		"the Sentinels have not noticed a hand-over yet": {o: given(modeSentinel, 2, member(1, primaryToo), member(0, func(m *topology.Member) {
			m.Role, m.Primary = topology.RoleReplica, address(1)
		}), func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{From: "v-0", To: "v-1", Phase: v1alpha1.OperationSucceeded, StartedAt: metav1.NewTime(testTime)}
		}), node: "v-1", confirmed: true},
		"the Sentinels name a stranger": {o: given(modeSentinel, 1, sentinelSays(0, func(m *topology.MonitorView) { m.Primary.Host, m.ConfigEpoch = "elsewhere", 9 })), reason: v1alpha1.ReasonSentinelDiffers},
		"Sentinels that know nothing":   {o: given(modeSentinel, 1, func(o *Observed) { o.Snapshot.Sentinels = o.Snapshot.Sentinels[:0] }), node: "v-0", confirmed: true},
		"a hand-over that nobody noted": {o: given(modeOperator, 1, member(1, primaryToo), func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{From: "v-0", To: "v-1", Phase: v1alpha1.OperationInProgress}
		}), node: "v-1", confirmed: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Judge(c.o)
			if got.Node != c.node || got.Confirmed != c.confirmed || got.Reason != c.reason {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// seenAs makes the controller remember with which history the node was primary.
func seenAs(node, history string) func(*Observed) {
	return func(o *Observed) { o.Memory.PrimaryHistoryOf, o.Memory.PrimaryHistory = node, history }
}

func TestFailover(t *testing.T) {
	lost := []func(*Observed){member(0, unreachable), member(1, unlinked), member(2, unlinked)}
	after := func(changes ...func(*Observed)) []func(*Observed) {
		return append(append([]func(*Observed){}, lost...), append([]func(*Observed){awaySince(time.Minute)}, changes...)...)
	}
	check(t, map[string]planCase{
		"healthy":           {given(modeOperator, 2), ""},
		"not yet":           {given(modeOperator, 2, append(lost, awaySince(time.Second))...), "blocked PrimaryLost"},
		"the best offset":   {given(modeOperator, 2, after(member(2, func(m *topology.Member) { m.Offset = 2000 }))...), "promote v-2 in place of v-0"},
		"the lowest of two": {given(modeOperator, 2, after()...), "promote v-1 in place of v-0"},
		"not an empty one":  {given(modeOperator, 2, after(member(1, func(m *topology.Member) { m.Keys, m.Offset = 0, 9000 }))...), "promote v-2 in place of v-0"},
		"not one without a complete copy": {given(modeOperator, 2, after(member(1, func(m *topology.Member) { m.Syncing = true }), member(2, unreachable))...),
			"blocked NoCandidate"},
		"not one that is never to be": {given(modeOperator, 2, after(member(1, func(m *topology.Member) { m.Priority = 0 }))...), "promote v-2 in place of v-0"},
		"not while a replica hears from it": {given(modeOperator, 1, member(0, unreachable), awaySince(time.Minute),
			member(1, func(m *topology.Member) { m.LastIO = time.Second })), "blocked PrimaryUnreachable"},
		"a frozen primary is not heard from": {given(modeOperator, 1, member(0, unreachable), awaySince(time.Minute),
			member(1, func(m *topology.Member) { m.LastIO = 11 * time.Second })), "promote v-1 in place of v-0"},
		"not an empty one of a primary with data": {given(modeOperator, 1, member(0, unreachable), awaySince(time.Minute),
			func(o *Observed) { o.Memory.PrimaryKnown, o.Memory.PrimaryKeys = true, 7 },
			member(1, func(m *topology.Member) { unlinked(m); m.Keys = 0 })), "blocked NoCandidate"},
		"an empty one of an empty primary": {given(modeOperator, 1, member(0, unreachable), awaySince(time.Minute),
			func(o *Observed) { o.Memory.PrimaryKnown = true },
			member(1, func(m *topology.Member) { unlinked(m); m.Keys = 0 })), "promote v-1"},
		"an empty primary at once": {given(modeOperator, 1, member(0, func(m *topology.Member) { m.Keys, m.ReplID = 0, "fresh" }), member(1, unlinked)), "promote v-1 in place of v-0"},
		"the old primary itself, where nobody is": {given(modeOperator, 1, awaySince(time.Minute),
			member(0, func(m *topology.Member) { m.Role, m.Primary, m.Offset = topology.RoleReplica, address(1), 2000 })), "promote v-0 in place of v-0"},
		"mode None":                           {given(modeNone, 2, after()...), "blocked PersonMustDecide"},
		"mode Sentinel":                       {given(modeSentinel, 2, after()...), ""},
		"Sentinels that agree and do nothing": {given(modeSentinel, 2, after(sayDown(0, 1)...)...), "ask the Sentinels to promote v-1 in place of v-0"},
		"a minority of the Sentinels":         {given(modeSentinel, 2, after(sayDown(0)...)...), ""},
		"Sentinels that have their time":      {given(modeSentinel, 2, append(append(lost, awaySince(49*time.Second)), sayDown(0, 1)...)...), ""},
		"Sentinels with a shorter down-after": {given(modeSentinel, 2, append(append(lost, awaySince(23*time.Second)),
			append(sayDown(0, 1), quickly(0, 1, 2)...)...)...), "ask the Sentinels to promote v-1 in place of v-0"},
		"Sentinels that are at it": {given(modeSentinel, 2, after(append(sayDown(0, 1, 2),
			sentinelSays(2, func(m *topology.MonitorView) { m.FailoverInProgress = true }))...)...), ""},
		"Sentinels, and nobody to promote": {given(modeSentinel, 2, after(append(sayDown(0, 1, 2), member(1, unreachable), member(2, unreachable))...)...),
			"blocked NoCandidate"},
		"Sentinels that see it down, though it answers here": {given(modeSentinel, 2, append(sayDown(0, 1, 2), awaySince(time.Hour))...), ""},
		"one that loads is not away": {given(modeOperator, 1, awaySince(time.Minute),
			member(0, func(m *topology.Member) { m.Reach.Class, m.Loading = topology.ReachLoading, true }), member(1, unlinked)), ""},
		"a claim goes first": {given(modeOperator, 2, after(func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{RequestedBy: "somebody", Phase: v1alpha1.OperationInProgress, StartedAt: metav1.NewTime(testTime)}
		})...), ""},
	}, "operation", "failover")
}

func TestReplication(t *testing.T) {
	stray := func(m *topology.Member) { m.Primary = topology.Address{Host: "bogus", Port: 6379} }
	orphan := func(m *topology.Member) { m.Role, m.Primary = topology.RolePrimary, topology.Address{} }
	seen := func(what string) func(*Observed) {
		return func(o *Observed) { o.Memory.Astray = map[string]string{"v-1": what} }
	}
	check(t, map[string]planCase{
		"healthy":               {given(modeNone, 2), ""},
		"seen once":             {given(modeNone, 2, member(1, stray)), "blocked WrongPrimary"},
		"seen twice":            {given(modeNone, 2, member(1, stray), seen("follows bogus:6379")), "make v-1 follow v-0"},
		"something else before": {given(modeNone, 2, member(1, stray), seen("says that it is primary")), "blocked WrongPrimary"},
		"an orphan":             {given(modeNone, 2, member(1, orphan), seen("says that it is primary")), "make v-1 follow v-0"},
		"not in flight": {given(modeSentinel, 2, member(1, stray), seen("follows bogus:6379"),
			sentinelSays(1, func(m *topology.MonitorView) { m.FailoverInProgress = true })), ""},
		"not while the Sentinels disagree": {given(modeSentinel, 2, member(2, stray), func(o *Observed) { o.Memory.Astray = map[string]string{"v-2": "follows bogus:6379"} },
			sentinelSays(1, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 0 })), ""},
		"not to an empty primary":       {given(modeNone, 1, member(0, func(m *topology.Member) { m.Keys, m.ReplID = 0, "fresh" }), member(1, stray), seen("follows bogus:6379")), ""},
		"not while the primary is away": {given(modeNone, 1, member(0, unreachable), member(1, stray), seen("follows bogus:6379")), ""},
	}, "replication")
}

func TestScale(t *testing.T) {
	to := func(replicas int32) func(*Observed) { return func(o *Observed) { o.Valkey.Spec.Replicas = replicas } }
	primaryIs := func(index int) func(*Observed) {
		return func(o *Observed) {
			for i := range o.Snapshot.Members {
				m := &o.Snapshot.Members[i]
				m.Role, m.Primary, m.LinkUp, m.Connected = topology.RoleReplica, address(index), true, nil
			}
			leader := &o.Snapshot.Members[index]
			leader.Role, leader.Primary, leader.LinkUp = topology.RolePrimary, topology.Address{}, false
			for i := range o.Snapshot.Members {
				if i != index {
					leader.Connected = append(leader.Connected, topology.ConnectedReplica{Address: address(i), Online: true})
				}
			}
			for i := range o.Snapshot.Sentinels {
				sentinelSays(i, func(m *topology.MonitorView) { m.Primary = address(index) })(o)
			}
		}
	}
	check(t, map[string]planCase{
		"as wanted":              {given(modeNone, 2), ""},
		"the highest first":      {given(modeNone, 3, to(1)), "remove node v-3"},
		"one after the other":    {given(modeNone, 3, to(1), func(o *Observed) { o.Leaving = []*corev1.Pod{{}} }), "blocked Scaling"},
		"the primary hands over": {given(modeNone, 2, to(1), primaryIs(2)), "hand over from v-2 to v-0"},
		"through the Sentinels":  {given(modeSentinel, 2, to(1), primaryIs(2)), "hand over from v-2 to v-0"},
		"first of all":           {given(modeNone, 3, to(1), primaryIs(2)), "hand over from v-2 to v-0"},
		"to nobody": {given(modeNone, 1, to(0), primaryIs(1), member(0, unlinked), func(o *Observed) { o.Snapshot.Members[1].Connected = nil }),
			"blocked HeldNobodyToTakeOver"},
		"not without a primary": {given(modeNone, 2, to(1), member(0, unreachable)), "blocked HeldUnhealthy"},
		"not one that may hold more than an empty primary": {given(modeNone, 2, to(1), member(0, func(m *topology.Member) { m.Keys = 0 }),
			member(1, func(m *topology.Member) { m.Keys = 0 }), member(2, unreachable)), "blocked HeldUnhealthy"},
		"one that does not answer": {given(modeNone, 2, to(1), member(2, unreachable)), "remove node v-2"},
		"not one that says it is primary, too": {given(modeNone, 2, to(1), member(2, func(m *topology.Member) {
			m.Role, m.Primary, m.ReplID = topology.RolePrimary, topology.Address{}, "other"
		})), "blocked HeldUnhealthy"},
		"not behind the back of a Sentinel": {given(modeSentinel, 2, to(1), primaryIs(2), func(o *Observed) {
			for i := range o.Snapshot.Sentinels {
				o.Snapshot.Sentinels[i].Reach.Class = topology.ReachTimeout
			}
		}), "blocked SentinelsUnreachable"},
	}, "scale")
}

func TestRoll(t *testing.T) {
	alone := func(changes ...func(*Observed)) Observed {
		return given(modeNone, 0, append([]func(*Observed){pending(0)}, changes...)...)
	}
	rolled := func(indices ...int) func(*Observed) {
		return func(o *Observed) {
			for _, i := range indices {
				n := o.Nodes[i]
				n.Object.Spec.WorkloadRevision, n.Object.Status.WorkloadRevision = "new", "new"
				n.Pod.Annotations["valkey.io/workload-revision"] = "new"
			}
		}
	}
	check(t, map[string]planCase{
		"nothing to do":              {given(modeNone, 2), ""},
		"the highest replica first":  {given(modeNone, 2, pending(0, 1, 2)), "replace pod of v-2"},
		"the next when that is back": {given(modeNone, 2, pending(0, 1), rolled(2)), "replace pod of v-1"},
		"not before":                 {given(modeNone, 2, pending(0, 1), rolled(2), member(2, unlinked), podIs(2, true, false)), "blocked Rolling"},
		"not before, as memory has it": {given(modeNone, 2, pending(0, 1, 2), func(o *Observed) {
			o.Memory.Rolling, o.Memory.RollingRevision, o.Memory.RollingSince = "v-2", "new", testTime
		}), "replace pod of v-2"},
		"the primary hands over":                      {given(modeNone, 2, pending(0), rolled(1, 2)), "hand over from v-0 to v-1"},
		"not before it is known what the others need": {given(modeNone, 2, pending(0), func(o *Observed) { o.Nodes[1].Object.Generation = 2 }), "blocked Rolling"},
		"not while a replica is unwell":               {given(modeNone, 2, pending(0, 1), member(2, unlinked)), "blocked HeldUnhealthy"},
		"not one that does not answer":                {given(modeNone, 2, pending(0, 1, 2), member(2, unreachable)), "blocked HeldUnhealthy"},
		"not while a failover is on":                  {given(modeSentinel, 2, pending(0, 1, 2), sentinelSays(0, func(m *topology.MonitorView) { m.FailoverInProgress = true })), "blocked FailoverInProgress"},
		"an idle pod at any time":                     {given(modeNone, 2, pending(0, 1, 2), member(0, unreachable), podIs(0, false, false)), "replace pod of v-0"},
		"one whose copy never completes": {given(modeNone, 2, pending(1, 2), member(1, unlinked), podIs(1, true, false), member(2, unlinked), podIs(2, true, false),
			incompleteFor(copyPatienceAlone, 2)), "replace pod of v-2"},
		"one whose copy never completes, beside another": {given(modeNone, 2, pending(1, 2), member(2, unlinked), podIs(2, true, false), incompleteFor(copyPatience, 2)), "replace pod of v-2"},
		// After a hand-over the former primary may copy anew, and hold the last other copy until that is through.
		"not one that still copies": {given(modeNone, 2, pending(2), member(1, unlinked), member(2, unlinked), incompleteFor(copyPatience, 1, 2)), "blocked HeldUnhealthy"},
		"authorised and not done":   {given(modeNone, 2, pending(0, 1, 2), func(o *Observed) { o.Nodes[2].Object.Spec.WorkloadRevision = "new" }), "blocked Rolling"},
		"the only copy, in memory":  {alone(), "blocked HeldNobodyToTakeOver"},
		"the only copy, given up": {alone(func(o *Observed) {
			o.Valkey.Annotations = map[string]string{v1alpha1.AnnotationApprovePrimaryRoll: "new"}
		}), "replace pod of v-0"},
		"the only copy, given up before": {alone(func(o *Observed) {
			o.Valkey.Annotations = map[string]string{v1alpha1.AnnotationApprovePrimaryRoll: "old"}
		}), "blocked HeldNobodyToTakeOver"},
		"the only copy, on a volume": {alone(func(o *Observed) { o.Valkey.Spec.Persistence = &v1alpha1.PersistenceSpec{} }), "replace pod of v-0"},
		"the only copy, of nothing":  {alone(member(0, func(m *topology.Member) { m.Keys = 0 })), "replace pod of v-0"},
		"a cache by declaration":     {alone(func(o *Observed) { o.Valkey.Spec.WorkloadType = v1alpha1.WorkloadTypeDeployment }), "replace pod of v-0"},
		"a person approves the last step": {given(modeNone, 1, pending(0), rolled(1), func(o *Observed) {
			o.Valkey.Annotations = map[string]string{v1alpha1.AnnotationPrimaryRoll: v1alpha1.PrimaryRollManual}
		}), "blocked AwaitingApproval"},
		"and has": {given(modeNone, 1, pending(0), rolled(1), func(o *Observed) {
			o.Valkey.Annotations = map[string]string{v1alpha1.AnnotationPrimaryRoll: v1alpha1.PrimaryRollManual, v1alpha1.AnnotationApprovePrimaryRoll: "new"}
		}), "hand over from v-0 to v-1"},
		"too long": {given(modeNone, 2, pending(0, 1), rolled(2), member(2, unlinked), podIs(2, true, false), func(o *Observed) {
			o.Memory.Rolling, o.Memory.RollingRevision, o.Memory.RollingSince = "v-2", "new", testTime.Add(-time.Hour)
		}), "blocked SyncTimeout"},
	}, "roll")
}

// Sentinels that name a node which follows the only primary are told of it, after the time that they need to hear of it by themselves.
func TestSentinelsThatAreBehindAreTold(t *testing.T) {
	promoted := func(o *Observed) {
		m := o.Snapshot.Members
		m[0].Role, m[0].Primary, m[0].LinkUp, m[0].Connected = topology.RoleReplica, address(1), true, nil
		m[1].Role, m[1].Primary, m[1].LinkUp = topology.RolePrimary, topology.Address{}, false
		m[1].Connected = []topology.ConnectedReplica{{Address: address(0), Online: true}}
		o.Memory.BehindSince = o.Now.Add(-behindAfter)
	}
	inFlight := func(o *Observed) {
		view := o.Snapshot.Sentinels[0].Monitors["v"]
		view.FailoverInProgress = true
		o.Snapshot.Sentinels[0].Monitors["v"] = view
	}
	for name, tc := range map[string]struct {
		change []func(*Observed)
		told   bool
	}{
		"behind":          {change: []func(*Observed){promoted}, told: true},
		"just now":        {change: []func(*Observed){promoted, func(o *Observed) { o.Memory.BehindSince = o.Now.Add(-behindAfter / 2) }}},
		"in flight":       {change: []func(*Observed){promoted, inFlight}},
		"two primaries":   {change: []func(*Observed){promoted, func(o *Observed) { o.Snapshot.Members[2].Role = topology.RolePrimary }}},
		"follows another": {change: []func(*Observed){promoted, func(o *Observed) { o.Snapshot.Members[0].Primary = address(2) }}},
		"healthy":         {},
	} {
		t.Run(name, func(t *testing.T) {
			decided := Compute(given(v1alpha1.FailoverModeSentinel, 2, tc.change...))
			told := false
			for _, action := range decided.Actions {
				promote, isPromote := action.(Promote)
				told = told || isPromote && promote.From == "v-0" && promote.To == "v-1" && promote.Monitor == "v"
				if isPromote && !tc.told {
					t.Errorf("planned: %s", action)
				}
			}
			if told != tc.told {
				t.Errorf("told: %t\n%s", told, decided)
			}
		})
	}
}
