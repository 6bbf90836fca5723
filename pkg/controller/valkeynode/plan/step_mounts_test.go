// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func TestAChangeIsAppliedOnceItsFileIsInThePod(t *testing.T) {
	m := newModel(t, ofValkey())
	m.files = Mounts{Settings: "s1", Config: "c1"}
	m.filesInPod = m.files
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	if m.pod.Annotations[AnnotationMounts] != "" {
		t.Error("the kubelet was asked to look, and nothing had changed")
	}

	m.node.Spec.Config = map[string]string{"maxmemory-policy": "allkeys-lfu"}
	m.node.Generation++
	m.files.Config = "c2"
	marks := map[string]bool{}
	for range 20 {
		m.pass()
		marks[m.pod.Annotations[AnnotationMounts]] = true
	}
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionFalse, v1alpha1.ReasonApplying)
	if m.config["maxmemory-policy"] != "allkeys-lfu" {
		t.Error("the running server was not told")
	}
	if len(marks) < 3 || len(marks) > 7 {
		t.Errorf("the kubelet was asked %d times in 20 s, want one every few seconds", len(marks))
	}
	m.filesInPod = m.files
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestTheAgentIsAskedOnlyWhileFilesAreAwaited(t *testing.T) {
	m := newModel(t, ofValkey())
	m.files = Mounts{Settings: "s1", Config: "c1"}
	m.filesInPod = m.files
	m.settle()
	asked := m.agentAsked
	for range 10 {
		m.pass()
	}
	if m.agentAsked != asked {
		t.Errorf("an idle node's agent was asked %d times", m.agentAsked-asked)
	}
	m.files.Settings = "s2"
	m.pass()
	if m.agentAsked == asked || m.pod.Annotations[AnnotationMounts] == "" {
		t.Error("other boot settings, and nobody hurries")
	}
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestAnAgentThatDoesNotSayIsNotWaitedFor(t *testing.T) {
	m := newModel(t, ofValkey())
	m.files = Mounts{Settings: "s1", Config: "c1"}
	m.settle()
	m.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}
