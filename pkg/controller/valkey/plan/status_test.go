// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// reported is the status after a pass in which everything was carried out.
func reported(o Observed) v1alpha1.ValkeyStatus {
	p := only(o, "operation", "warnings", "nodes", "route", "failover", "replication", "scale", "roll")
	return Status(o, p, nil)
}

func TestConditions(t *testing.T) {
	fresh := func(o *Observed) { o.Valkey.Status = v1alpha1.ValkeyStatus{} }
	persists := func(mode v1alpha1.PersistenceMode) func(*Observed) {
		return func(o *Observed) { o.Valkey.Spec.Persistence = &v1alpha1.PersistenceSpec{Mode: mode} }
	}
	nodeSays := func(index int, reason, message string) func(*Observed) {
		return func(o *Observed) {
			o.Nodes[index].Object.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}}
		}
	}
	noUsers := "True OpenAccess"
	cases := map[string]struct {
		o    Observed
		want map[string]string
	}{
		"healthy": {given(modeOperator, 2), map[string]string{
			"": "Ready PrimaryServing", "Ready": "True PrimaryServing", "Progressing": "False AsExpected", "Degraded": "False AsExpected",
			"PrimaryElected": "True PrimaryServing", "ReplicationHealthy": "True AsExpected", "Monitored": "none", "SentinelQuorumHealthy": "none",
			"ConfigurationWarning": noUsers}},
		"healthy under Sentinels": {given(modeSentinel, 2), map[string]string{
			"": "Ready PrimaryServing", "Monitored": "True Registered", "SentinelQuorumHealthy": "True QuorumReached"}},
		"alone":                       {given(modeNone, 0), map[string]string{"": "Ready PrimaryServing", "ReplicationHealthy": "True NoReplicas"}},
		"complete for the first time": {given(modeOperator, 1, fresh), map[string]string{"": "Ready PrimaryServing", "Ready": "True PrimaryServing"}},
		"starting": {given(modeOperator, 1, fresh, podIs(1, true, false), member(1, unlinked)), map[string]string{
			"": "Initializing Starting", "Ready": "False Starting", "Progressing": "True Starting", "Degraded": "False Starting"}},
		"starting until it is registered": {given(modeSentinel, 1, fresh, func(o *Observed) { o.Snapshot.Sentinels[1].Monitors = map[string]topology.MonitorView{} }),
			map[string]string{"": "Initializing Starting", "Monitored": "False NotRegistered"}},
		"a replica is not ready": {given(modeOperator, 1, podIs(1, true, false), member(1, unlinked)), map[string]string{
			"": "Degraded PodsNotReady", "Ready": "True PrimaryServing", "ReplicationHealthy": "False LinkDown"}},
		"a replica whose image is wrong": {given(modeOperator, 1, podIs(1, false, false), member(1, unreachable), nodeSays(1, "ImagePullFailed", "not found")),
			map[string]string{"": "Degraded PodsNotReady", "ReplicationHealthy": "False ImagePullFailed"}},
		"the primary has all the clients it may": {given(modeOperator, 1, member(0, full), member(1, unlinked)), map[string]string{
			"": "Failed TooManyClients", "Ready": "False TooManyClients", "PrimaryElected": "False TooManyClients"}},
		"it has, and lets the controller in": {given(modeOperator, 1, member(0, func(m *topology.Member) { m.Full = true })), map[string]string{
			"": "Degraded PodsNotReady", "Ready": "True PrimaryServing", "PrimaryElected": "True PrimaryServing"}},
		"the primary is fenced": {given(modeSentinel, 1, member(0, func(m *topology.Member) { m.WantsReplicas = true })), map[string]string{
			"": "Failed WritesRefused", "Ready": "False WritesRefused", "PrimaryElected": "True PrimaryServing"}},
		"the primary is lost": {given(modeOperator, 1, member(0, unreachable), member(1, unlinked)), map[string]string{
			"": "Failed PrimaryUnreachable", "Ready": "False PrimaryUnreachable", "PrimaryElected": "False PrimaryUnreachable", "ReplicationHealthy": "False NoPrimary"}},
		"the primary's pod is not ready": {given(modeOperator, 1, podIs(0, true, false)), map[string]string{"": "Failed PrimaryNotReady"}},
		"two primaries": {given(modeOperator, 1, member(1, func(m *topology.Member) { m.Role, m.Primary = topology.RolePrimary, topology.Address{} })), map[string]string{
			"PrimaryElected": "False SeveralPrimaries", "ReplicationHealthy": "False SeveralPrimaries"}},
		"rolling":        {given(modeOperator, 2, pending(0, 1, 2)), map[string]string{"": "Reconciling Rolling", "Progressing": "True Rolling", "Ready": "True PrimaryServing"}},
		"a roll is held": {given(modeNone, 0, pending(0)), map[string]string{"Progressing": "True HeldNobodyToTakeOver"}},
		"growing":        {given(modeOperator, 1, func(o *Observed) { o.Valkey.Spec.Replicas = 2 }), map[string]string{"": "Reconciling Scaling", "Progressing": "True Scaling"}},
		"not selected":   {given(modeSentinel, 1, func(o *Observed) { o.Monitoring.Set, o.Snapshot.Sentinels = nil, nil }), map[string]string{"": "Degraded NotSelected", "Monitored": "False NotSelected", "SentinelQuorumHealthy": "False NotSelected"}},
		"no Sentinel answers": {given(modeSentinel, 1, func(o *Observed) {
			for i := range o.Snapshot.Sentinels {
				o.Snapshot.Sentinels[i].Reach.Class = topology.ReachTimeout
			}
		}), map[string]string{"": "Degraded SentinelsUnreachable", "Ready": "True PrimaryServing", "Monitored": "Unknown SentinelsUnreachable"}},
		"Sentinels that refuse the login": {given(modeSentinel, 1, func(o *Observed) {
			for i := range o.Snapshot.Sentinels {
				o.Snapshot.Sentinels[i].Reach.Class = topology.ReachAuth
			}
		}), map[string]string{"": "Degraded AuthFailed", "Monitored": "Unknown AuthFailed", "SentinelQuorumHealthy": "Unknown AuthFailed"}},
		"too few Sentinels": {given(modeSentinel, 1, func(o *Observed) {
			o.Snapshot.Sentinels[1].Reach.Class, o.Snapshot.Sentinels[2].Reach.Class = topology.ReachTimeout, topology.ReachTimeout
		}), map[string]string{"SentinelQuorumHealthy": "False NoQuorum", "Monitored": "True Registered"}},
		"a disk that is full": {given(modeOperator, 1, member(1, func(m *topology.Member) { m.Persistence = topology.Persistence{AOFEnabled: true, RDBLastSaveOK: true} })),
			map[string]string{"": "Degraded PodsNotReady", "ReplicationHealthy": "True AsExpected"}},
		"the primary's disk is full": {given(modeOperator, 1, persists(v1alpha1.PersistenceModeAOF), member(0, func(m *topology.Member) { m.Persistence = topology.Persistence{AOFEnabled: true, RDBLastSaveOK: true} })),
			map[string]string{"": "Failed DiskWriteFailed", "Ready": "False DiskWriteFailed"}},
		"the primary's snapshot failed": {given(modeOperator, 1, persists(v1alpha1.PersistenceModeRDB), member(0, func(m *topology.Member) { m.Persistence.RDBLastSaveOK = false })),
			map[string]string{"": "Failed DiskWriteFailed"}},
		"the primary's snapshot failed, and writes go on": {given(modeOperator, 1, persists(v1alpha1.PersistenceModeRDB), func(o *Observed) {
			o.Valkey.Spec.Config = map[string]string{"stop-writes-on-bgsave-error": "no"}
			o.Snapshot.Members[0].Persistence.RDBLastSaveOK = false
		}), map[string]string{"Ready": "True PrimaryServing", "Degraded": "True PodsNotReady"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := reported(c.o)
			for kind, want := range c.want {
				got := condition(status, kind)
				if kind == "" {
					got = string(status.State) + " " + status.Reason
				}
				if got != want {
					t.Errorf("%s: %s, want %s (message %q)", kind, got, want, status.Message)
				}
			}
		})
	}
}

func TestAStatusThatIsRightIsLeftAsItIs(t *testing.T) {
	for _, mode := range []v1alpha1.FailoverMode{modeNone, modeOperator, modeSentinel} {
		o := given(mode, 2)
		first := reported(o)
		later := given(mode, 2, func(o *Observed) {
			o.Valkey.Status = first
			o.Now = o.Now.Add(time.Hour)
			for i := range o.Snapshot.Members {
				o.Snapshot.Members[i].Offset += 12345
				o.Snapshot.Members[i].Keys += 10
			}
		})
		if diff := cmp.Diff(first, reported(later)); diff != "" {
			t.Errorf("mode %s: the status moved while nothing happened:\n%s", mode, diff)
		}
	}
}

func TestAChangeOfThePrimaryIsRecorded(t *testing.T) {
	moved := func(o *Observed) {
		for i := range o.Snapshot.Members {
			m := &o.Snapshot.Members[i]
			m.Role, m.Primary, m.LinkUp = topology.RoleReplica, address(1), true
		}
		m := &o.Snapshot.Members[1]
		m.Role, m.Primary, m.LinkUp = topology.RolePrimary, topology.Address{}, false
		for i := range o.Snapshot.Sentinels {
			sentinelSays(i, func(view *topology.MonitorView) { view.Primary, view.ConfigEpoch = address(1), 2 })(o)
		}
	}
	claimed := func(by string, phase v1alpha1.OperationPhase) func(*Observed) {
		return func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{
				UID: "1", RequestedBy: by, From: "v-0", To: "v-1", Phase: phase, StartedAt: metav1.NewTime(testTime.Add(-2 * time.Second))}
		}
	}
	ending := func(o *Observed) { o.Nodes[0].Pod.DeletionTimestamp = &metav1.Time{Time: testTime} }
	gone := func(o *Observed) { o.Nodes[0].Pod = nil }
	replaced := func(o *Observed) {
		meta.SetStatusCondition(&o.Valkey.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionPrimaryElected, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(testTime.Add(-time.Hour))})
		o.Nodes[0].Pod.CreationTimestamp = metav1.NewTime(testTime.Add(-time.Second))
	}
	stays := func(o *Observed) {
		replaced(o)
		o.Nodes[0].Pod.CreationTimestamp = metav1.NewTime(testTime.Add(-2 * time.Hour))
	}
	// before: it was moved to v-0 after the operation that is on record.
	before := func(o *Observed) {
		o.Valkey.Status.LastFailover = &v1alpha1.FailoverRecord{From: "v-1", To: "v-0", StartedAt: metav1.NewTime(testTime.Add(-time.Second))}
	}
	two := &metav1.Duration{Duration: 2 * time.Second}
	cases := map[string]struct {
		o     Observed
		cause v1alpha1.FailoverCause
		took  *metav1.Duration
	}{
		"by the Sentinels":              {given(modeSentinel, 1, moved), v1alpha1.FailoverCauseSentinel, nil},
		"by a person, past the API":     {given(modeOperator, 1, moved), v1alpha1.FailoverCauseRequested, nil},
		"past the API, pod as it was":   {given(modeOperator, 1, moved, stays), v1alpha1.FailoverCauseRequested, nil},
		"its pod ends":                  {given(modeOperator, 1, moved, ending), v1alpha1.FailoverCauseRoll, nil},
		"its pod has ended":             {given(modeOperator, 1, moved, gone), v1alpha1.FailoverCauseRoll, nil},
		"its pod is another":            {given(modeOperator, 1, moved, replaced), v1alpha1.FailoverCauseRoll, nil},
		"its pod ends, under Sentinels": {given(modeSentinel, 1, moved, ending), v1alpha1.FailoverCauseSentinel, nil},
		"long after a like operation":   {given(modeOperator, 1, moved, ending, claimed("somebody", v1alpha1.OperationSucceeded), before), v1alpha1.FailoverCauseRoll, nil},
		"by a person":                   {given(modeOperator, 1, moved, claimed("somebody", v1alpha1.OperationSucceeded)), v1alpha1.FailoverCauseRequested, two},
		"by an earlier self":            {given(modeOperator, 1, moved, claimed(Requester(v1alpha1.FailoverCauseRoll), v1alpha1.OperationInProgress)), v1alpha1.FailoverCauseRoll, two},
		"by a person under Sentinels":   {given(modeSentinel, 1, moved, claimed("somebody", v1alpha1.OperationSucceeded)), v1alpha1.FailoverCauseRequested, two},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := reported(c.o)
			record := status.LastFailover
			if record == nil || record.From != "v-0" || record.To != "v-1" || record.Cause != c.cause || status.Primary != "v-1" {
				t.Fatalf("primary %s, record %+v", status.Primary, record)
			}
			if diff := cmp.Diff(c.took, record.Duration); diff != "" {
				t.Errorf("duration: %s", diff)
			}
			if events := Transitions(c.o.Valkey.Status, status, ""); len(events) == 0 || events[0].Reason != v1alpha1.EventPrimaryChanged {
				t.Errorf("events: %+v", events)
			}
		})
	}
}

// Who takes no more connections is there: nobody takes its place, however long it lasts, and people are told what to do.
func TestNobodyIsPromotedForAFullPrimary(t *testing.T) {
	for _, mode := range []v1alpha1.FailoverMode{modeOperator, modeSentinel, modeNone} {
		o := given(mode, 1, member(0, full), member(1, unlinked), awaySince(time.Hour), pending(0, 1))
		p := only(o, "operation", "failover", "replication", "strays", "scale", "roll")
		for _, action := range p.Actions {
			t.Errorf("mode %s: planned %s", mode, action)
		}
		if !p.Memory.AwaySince.IsZero() {
			t.Errorf("mode %s: it counts as away", mode)
		}
		status := Status(o, p, nil)
		if status.Members[0].Reason != v1alpha1.ReasonTooManyClients || !strings.Contains(status.Message, "maxclients") {
			t.Errorf("mode %s: %+v, %q", mode, status.Members[0], status.Message)
		}
	}
}

// Why a primary refuses writes is told in words, and as an event.
func TestAFencedPrimaryIsToldOf(t *testing.T) {
	fenced := member(0, func(m *topology.Member) { m.WantsReplicas = true })
	own := func(o *Observed) { o.Valkey.Spec.Config = map[string]string{"min-replicas-to-write": "1"} }
	for words, o := range map[string]Observed{
		"its agent has nobody who confirms":        given(modeOperator, 1, fenced),
		"spec.config sets min-replicas-to-write 1": given(modeOperator, 1, fenced, own),
	} {
		before := reported(given(modeOperator, 1))
		o.Valkey.Status = before
		status := reported(o)
		if status.Members[0].Reason != v1alpha1.ReasonWritesRefused || !strings.Contains(status.Message, words) {
			t.Errorf("%+v, %q", status.Members[0], status.Message)
		}
		events := Transitions(before, status, "")
		if len(events) == 0 || events[0].Reason != v1alpha1.EventNotReady || !events[0].Warning || !strings.Contains(events[0].Message, words) {
			t.Errorf("events: %+v", events)
		}
	}
}

func TestWhatWasDoneCountsBeforeItIsSeen(t *testing.T) {
	o := given(modeOperator, 1, member(0, unreachable), member(1, unlinked), awaySince(time.Minute))
	p := only(o, "failover")
	done := Outcome{Action: p.Actions[0], Duration: 1234567 * time.Microsecond, Operation: &v1alpha1.OperationStatus{UID: "1", Phase: v1alpha1.OperationSucceeded}}
	status := Status(o, p, []Outcome{done})
	if status.Primary != "v-1" || status.LastFailover == nil || status.LastFailover.Cause != v1alpha1.FailoverCauseOperator ||
		status.LastFailover.Duration.Duration != 1235*time.Millisecond || status.Operation.UID != "1" {
		t.Errorf("status: %+v", status)
	}
	failed := done
	failed.Err = errors.New("refused")
	other := done
	other.Operation = &v1alpha1.OperationStatus{UID: "1", Phase: v1alpha1.OperationSucceeded, To: "v-2"}
	if status := Status(o, p, []Outcome{other}); status.Primary != "v-2" || status.LastFailover.To != "v-2" {
		t.Errorf("another became primary than was asked for: %s, %+v", status.Primary, status.LastFailover)
	}
	if status := Status(o, p, []Outcome{failed}); status.Primary != "v-0" || status.LastFailover != nil {
		t.Errorf("a failed promotion counts: %+v", status)
	}
}

func TestAClaimEnds(t *testing.T) {
	claim := func(by, to string, expires time.Duration) func(*Observed) {
		return func(o *Observed) {
			o.Valkey.Status.Operation = &v1alpha1.OperationStatus{
				UID: "1", RequestedBy: by, From: "v-1", To: to, Phase: v1alpha1.OperationInProgress, ExpiresAt: metav1.NewTime(testTime.Add(expires))}
		}
	}
	own := Requester(v1alpha1.FailoverCauseRoll)
	for name, c := range map[string]struct {
		o    Observed
		want v1alpha1.OperationPhase
	}{
		"fresh":                             {given(modeNone, 1, claim("somebody", "v-1", time.Second)), v1alpha1.OperationInProgress},
		"fresh and done, somebody else's":   {given(modeNone, 1, claim("somebody", "v-0", time.Second)), v1alpha1.OperationInProgress},
		"fresh and done, an earlier self's": {given(modeNone, 1, claim(own, "v-0", time.Second)), v1alpha1.OperationSucceeded},
		"expired and done":                  {given(modeNone, 1, claim("somebody", "v-0", -time.Second)), v1alpha1.OperationSucceeded},
		"expired":                           {given(modeNone, 1, claim("somebody", "v-1", -time.Second)), v1alpha1.OperationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := reported(c.o).Operation.Phase; got != c.want {
				t.Errorf("phase %s, want %s", got, c.want)
			}
		})
	}
}

func TestOutcomesShowWhereTheyLast(t *testing.T) {
	o := given(modeNone, 0)
	apply := Apply{Kind: KindBudget, Name: "valkey-v", Secondary: true}
	p := Plan{Verdict: Judge(o), Whole: true, Actions: []Action{apply}}
	refused := Outcome{Action: apply, Err: errors.New("forbidden")}
	status := Status(o, p, []Outcome{refused})
	if got := condition(status, v1alpha1.ConditionDegraded); got != "True ApplyFailed" || status.State != v1alpha1.StateDegraded {
		t.Errorf("degraded: %s, state %s", got, status.State)
	}
	refused.Transient = true
	if got := condition(Status(o, p, []Outcome{refused}), v1alpha1.ConditionDegraded); got != "False AsExpected" {
		t.Errorf("a conflict of the moment is told: %s", got)
	}
	refused.Transient, refused.Foreign = false, true
	after := Status(o, p, []Outcome{refused})
	if got := condition(after, v1alpha1.ConditionDegraded); got != "True ForeignObject" {
		t.Errorf("degraded: %s", got)
	}
	events := Transitions(status, after, "v-0")
	if len(events) != 1 || events[0].Reason != v1alpha1.EventForeignObject || !events[0].Warning {
		t.Errorf("events: %+v", events)
	}
	after.Primary = "v-1"
	if recorded := Transitions(after, after, "v-0"); len(recorded) != 1 || recorded[0].Reason != v1alpha1.EventPrimaryChanged {
		t.Errorf("a change that the API server recorded is not told of: %+v", recorded)
	}
	after.Primary = "v-0"
	if again := Transitions(after, after, "v-0"); len(again) != 0 {
		t.Errorf("events where nothing turned: %+v", again)
	}
}

func TestNoSecretIsPrinted(t *testing.T) {
	write := WritePasswords{Name: "secret", Draw: []string{"_operator"}, Keep: map[string]Secret{"_agent": "hush"}}
	p := Plan{Actions: []Action{write, Replace{Node: "v-0"}, RemoveNode{Node: "v-1", UID: types.UID("u")}}}
	if text := p.String(); strings.Contains(text, "hush") || !strings.Contains(text, "_agent") {
		t.Errorf("plan: %s", text)
	}
}
