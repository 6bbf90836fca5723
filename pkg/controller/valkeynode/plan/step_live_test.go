// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestALiveDirectiveIsChangedUnderTheRunningServer(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.node.Spec.Config = map[string]string{"maxmemory": "2gb"}
	m.spells["2gb"] = "2147483648"
	decided := m.pass()
	if !strings.Contains(decided.String(), "set maxmemory") {
		t.Fatalf("planned:\n%s", decided)
	}
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	m.settle()
	if m.config["maxmemory"] != "2147483648" || m.podsRun != 1 {
		t.Errorf("maxmemory %s, %d pods", m.config["maxmemory"], m.podsRun)
	}
}

func TestWhatAPersonSetByHandGoesBack(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.config["maxmemory"] = "5"
	m.settle()
	if m.config["maxmemory"] != "1gb" {
		t.Errorf("maxmemory = %s", m.config["maxmemory"])
	}
}

func TestASpellingOfTheServersOwnIsNotADifference(t *testing.T) {
	node := byHand()
	node.Spec.Config = map[string]string{"notify-keyspace-events": "KEA"}
	m := newModel(t, node)
	m.spells["KEA"] = "AKE"
	m.settle()
	m.config["notify-keyspace-events"] = "AKE"
	m.settle()
	if decided := m.pass(); len(decided.Actions) != 0 {
		t.Errorf("told again what it has:\n%s", decided)
	}
	m.config["notify-keyspace-events"] = ""
	if decided := m.pass(); !strings.Contains(decided.String(), "set notify-keyspace-events") {
		t.Errorf("drift was not noticed:\n%s", decided)
	}
}

func TestARefusedDirectiveIsReportedAndNotRepeated(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.node.Spec.Config = map[string]string{"maxmemory-policy": "nonsense", "maxmemory": "3gb"}
	m.refuses["maxmemory-policy"] = "argument must be one of the following"
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionFalse, v1alpha1.ReasonConfigRefused)
	if message := m.condition(v1alpha1.ConditionLiveConfigApplied).Message; !strings.Contains(message, "maxmemory-policy: argument must be") {
		t.Errorf("message: %s", message)
	}
	if m.config["maxmemory"] != "3gb" {
		t.Error("a refused directive hid another one")
	}
	if decided := m.pass(); len(decided.Actions) != 0 {
		t.Errorf("repeated:\n%s", decided)
	}
	m.node.Spec.Config["maxmemory-policy"] = "allkeys-lru"
	delete(m.refuses, "maxmemory-policy")
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestADirectiveThatIsForbiddenIsSentAgain(t *testing.T) {
	m := newModel(t, byHand())
	m.settle()
	m.node.Spec.Config = map[string]string{"maxmemory": "3gb"}
	m.refuses["maxmemory"], m.forNow = "NOPERM User has no permissions", true
	m.pass()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionFalse, v1alpha1.ReasonConfigRefused)
	m.pass()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionFalse, v1alpha1.ReasonConfigRefused)
	delete(m.refuses, "maxmemory")
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestFixedAndOwnedDirectivesAreNotSentToTheServer(t *testing.T) {
	node := byHand()
	node.Spec.Config = map[string]string{"databases": "32", "dir": "/elsewhere", "io-threads": "4", "replica-priority": "5", "slave-priority": "5", "hz": "20"}
	for _, directive := range LiveConfig(node, "9.1.0") {
		switch directive.Name {
		case "hz", "appendonly", "save", "rdb-del-sync-files":
		default:
			t.Errorf("would set %s", directive.Name)
		}
	}
}

func TestSameValue(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"1gb", "1073741824", true},
		{"1g", "1000000000", true},
		{"YES", "yes", true},
		{"900  1 300 10", "900 1 300 10", true},
		{"", "", true},
		{"1gb", "1000000000", false},
		{"10", "1", false},
		{"10%", "10", false},
		{"gb", "0", false},
	} {
		if got := isSameValue(tc.a, tc.b); got != tc.want {
			t.Errorf("isSameValue(%q, %q) = %v", tc.a, tc.b, got)
		}
	}
}

const (
	alice     = "user alice on #aa ~app:* -@all +get\n"
	aliceNew  = "user alice on #bb ~app:* -@all +get\n"
	aliceMore = "user alice on #aa ~app:* -@all +get +set\n"
	aliceOdd  = "user alice on #aa ~app:* -@all +get +weird\n"
)

func TestAChangedACLFileIsLoadedOnceItIsThere(t *testing.T) {
	for name, changed := range map[string]string{"a password": aliceNew, "a rule": aliceMore} {
		t.Run(name, func(t *testing.T) {
			m := newModel(t, ofValkey())
			m.aclFile = alice
			m.settle()
			m.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)

			m.aclFile = changed
			for range 20 {
				m.pass()
			}
			if m.condition(v1alpha1.ConditionACLApplied).Status != metav1.ConditionFalse {
				t.Fatal("applied, and the file has not even arrived")
			}
			if m.pod.Annotations[AnnotationMounts] == "" {
				t.Error("the kubelet was not asked to hurry")
			}
			m.mounted = changed
			m.settle()
			m.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
			if m.acl != reportedACL(changed) {
				t.Errorf("the server has\n%s", m.acl)
			}
		})
	}
}

func TestLoadingIsNotRepeatedInAHotLoop(t *testing.T) {
	m := newModel(t, ofValkey())
	m.aclFile = alice
	m.settle()
	m.aclFile = aliceNew
	loads := 0
	for range 20 {
		for _, action := range m.pass().Actions {
			if _, ok := action.(LoadACL); ok {
				loads++
			}
		}
	}
	if loads < 2 || loads > 6 {
		t.Errorf("%d loads in 20 s, want one every few seconds", loads)
	}
}

func TestRulesThatTheServerSpellsInItsOwnWay(t *testing.T) {
	m := newModel(t, ofValkey())
	m.aclFile = alice
	m.settle()
	m.aclFile, m.mounted = aliceOdd, aliceOdd
	odd := func() { m.acl = strings.Replace(m.acl, "+weird", "+WEIRD|all", 1) }
	for range 6 {
		m.pass()
		odd()
	}
	m.settle()
	m.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestAnACLThatAPersonChangedByHandGoesBack(t *testing.T) {
	m := newModel(t, ofValkey())
	m.aclFile = alice
	m.settle()
	m.acl = "user alice off sanitize-payload #aa ~app:* -@all +get\n"
	m.settle()
	if m.acl != reportedACL(alice) {
		t.Errorf("the server has\n%s", m.acl)
	}
}

func TestAServerSeenForTheFirstTimeIsBelievedIfItsUsersAreRight(t *testing.T) {
	m := newModel(t, ofValkey())
	m.aclFile = aliceOdd
	m.settle()
	m.acl = strings.Replace(m.acl, "+weird", "+WEIRD|all", 1)
	m.memory = Memory{} // the controller was restarted
	if decided := m.pass(); len(decided.Actions) != 0 {
		t.Errorf("planned:\n%s", decided)
	}
	m.acl = reportedACL(aliceNew)
	m.memory = Memory{}
	if decided := m.pass(); !strings.Contains(decided.String(), "load the ACL file") {
		t.Errorf("a server with another password was believed:\n%s", decided)
	}
}

func TestPlansShowNoSecret(t *testing.T) {
	m := newModel(t, ofValkey())
	m.aclFile = alice
	m.settle()
	m.aclFile = aliceNew
	m.now = m.now.Add(time.Minute)
	decided := m.pass()
	text := decided.String() + strings.Join(decided.Log, "\n")
	for _, condition := range m.node.Status.Conditions {
		text += condition.Message
	}
	if strings.Contains(text, "#bb") || strings.Contains(text, "#aa") {
		t.Errorf("a password hash is in\n%s", text)
	}
}
