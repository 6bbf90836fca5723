// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// finding is one thing that makes a condition what it is.
type finding struct{ reason, message string }

// told is a condition that is True when something was found, with the first finding's reason and everybody's words.
func told(kind string, findings []finding, otherwise string) metav1.Condition {
	if len(findings) == 0 {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAsExpected, Message: otherwise}
	}
	var texts []string
	for _, found := range findings {
		if !slices.Contains(texts, found.message) {
			texts = append(texts, found.message)
		}
	}
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: findings[0].reason, Message: strings.Join(texts, "; ")}
}

// quorumHealthy tells whether a failover of each monitored Valkey could be agreed on and authorised.
func (s *summary) quorumHealthy() metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionQuorumHealthy, Status: metav1.ConditionFalse}
	answering, size := s.answering(), s.plan.size
	var texts, settling []string
	registered := 0
	for _, monitor := range s.monitors {
		if monitor.RegisteredOn == 0 {
			continue
		}
		registered++
		switch {
		case !monitor.OK && s.memory.isSettling(monitor.Name, s.Now):
			settling = append(settling, monitor.Name)
		case !monitor.OK && monitor.OKMessage == "":
			texts = append(texts, fmt.Sprintf("monitor %s is registered on %d of %d Sentinels", monitor.Name, monitor.RegisteredOn, size))
		case !monitor.OK:
			texts = append(texts, fmt.Sprintf("monitor %s: %s", monitor.Name, monitor.OKMessage))
		}
	}
	switch {
	case answering == 0 && s.refusing() > 0:
		condition.Reason = v1alpha1.ReasonAuthFailed
		condition.Message = fmt.Sprintf("%d of %d Sentinels refuse the controller's password", s.refusing(), size)
	case answering == 0:
		condition.Reason, condition.Message = v1alpha1.ReasonSentinelsUnreachable, "no Sentinel answers"
	case answering-s.tilted() < majority(size):
		condition.Reason = v1alpha1.ReasonNoQuorum
		condition.Message = strings.Join(append([]string{s.tooFew(answering)}, texts...), "; ")
	case len(texts) > 0:
		condition.Reason, condition.Message = v1alpha1.ReasonNoQuorum, strings.Join(texts, "; ")
	case len(settling) > 0:
		// What it said before goes on being said: that they have not found each other yet is no loss of a quorum.
		if before := meta.FindStatusCondition(s.Set.Status.Conditions, v1alpha1.ConditionQuorumHealthy); before != nil {
			return metav1.Condition{Type: before.Type, Status: before.Status, Reason: before.Reason, Message: before.Message}
		}
		condition.Reason, condition.Message = v1alpha1.ReasonNoQuorum, "just registered: "+strings.Join(settling, ", ")
	case registered == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonNoMonitors
		condition.Message = "a majority of the Sentinels answers; nothing is monitored yet"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonQuorumReached
		condition.Message = "a failover of every monitored Valkey could be agreed on and authorised"
	}
	return condition
}

// ready tells whether the set serves: a majority is there, and every Valkey whose primary is known is monitored by a majority.
func (s *summary) ready(quorum metav1.Condition) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: quorum.Reason, Message: quorum.Message}
	pods := s.readyPods()
	if s.Objects.Workload == nil || pods == 0 {
		condition.Reason, condition.Message = v1alpha1.ReasonStarting, fmt.Sprintf("%d of %d Sentinels are ready", pods, s.plan.size)
		return condition
	}
	if pods < majority(s.plan.size) {
		condition.Reason, condition.Message = v1alpha1.ReasonPodsNotReady, fmt.Sprintf("%d of %d Sentinels are ready", pods, s.plan.size)
		return condition
	}
	if quorum.Status != metav1.ConditionTrue {
		return condition
	}
	waiting := 0
	for i, monitor := range s.monitors {
		switch {
		case s.plan.monitors[i].primary.IsZero(), s.plan.monitors[i].mismatch != "" && monitor.RegisteredOn == 0:
			waiting++
		case int(monitor.RegisteredOn) < majority(s.plan.size):
			condition.Reason = v1alpha1.ReasonRegistering
			condition.Message = fmt.Sprintf("monitor %s is registered on %d of %d Sentinels", monitor.Name, monitor.RegisteredOn, s.plan.size)
			return condition
		}
	}
	condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonAsExpected
	condition.Message = fmt.Sprintf("%d Sentinels monitor %d Valkeys", s.plan.size, len(s.monitors)-waiting)
	if waiting > 0 {
		condition.Message += fmt.Sprintf("; %d are waited for, which have no primary yet or do not speak TLS as the Sentinels do", waiting)
	}
	return condition
}

// degraded tells whether less is there than was asked for, or something stands in the way.
func (s *summary) degraded() metav1.Condition {
	var findings []finding
	for _, text := range s.plan.strange {
		findings = append(findings, finding{v1alpha1.ReasonForeignObject, text})
	}
	for _, outcome := range s.outcomes {
		if outcome.Err != nil && outcome.Action.Tier() == TierSafe {
			findings = append(findings, finding{v1alpha1.ReasonApplyFailed, fmt.Sprintf("%s: %v", outcome.Action, outcome.Err)})
		}
	}
	for _, blocked := range s.plan.Blocked {
		switch blocked.Reason {
		case v1alpha1.ReasonApplyFailed, v1alpha1.ReasonSecretMissing, v1alpha1.ReasonMonitorMisplaced, v1alpha1.ReasonSentinelDiffers,
			v1alpha1.ReasonCertificateUnusable, v1alpha1.ReasonCertManagerMissing, v1alpha1.ReasonForeignObject:
			findings = append(findings, finding{blocked.Reason, blocked.Message})
		case v1alpha1.ReasonCertificateNotReady:
			if !s.plan.awaits {
				findings = append(findings, finding{blocked.Reason, blocked.Message})
			}
		}
	}
	for i := range s.plan.size {
		switch pod := s.pod(i); {
		case s.isSettling(pod):
		case i < len(s.Sentinels) && !s.Sentinels[i].View.Reach.OK():
			findings = append(findings, silence(i, s.Sentinels[i].View.Reach))
		case i < len(s.Sentinels) && s.Sentinels[i].Tilt:
			findings = append(findings, finding{v1alpha1.ReasonSentinelTilt, fmt.Sprintf("Sentinel %d distrusts its clock (TILT)", i)})
		case !isPodReady(pod):
			findings = append(findings, finding{v1alpha1.ReasonPodsNotReady, fmt.Sprintf("pod %s is not ready", naming.SentinelPod(s.Set.Name, i))})
		}
	}
	return told(v1alpha1.ConditionDegraded, findings, "all Sentinels answer")
}

// progressing tells whether a change is on its way.
func (s *summary) progressing() metav1.Condition {
	var findings []finding
	if s.Objects.Workload == nil {
		findings = append(findings, finding{v1alpha1.ReasonStarting, "the Sentinels are being made"})
	}
	for _, blocked := range s.plan.Blocked {
		findings = append(findings, finding{blocked.Reason, blocked.Message})
	}
	for _, outcome := range s.outcomes {
		if reason := progressOf(outcome.Action); reason != "" && !outcome.Skipped && outcome.Refused == "" {
			findings = append(findings, finding{reason, outcome.Action.String()})
		}
	}
	for i := range s.plan.size {
		if s.isSettling(s.pod(i)) {
			findings = append(findings, finding{v1alpha1.ReasonPodsNotReady, fmt.Sprintf("pod %s starts or ends", naming.SentinelPod(s.Set.Name, i))})
		}
	}
	if s.plan.rolling > 0 {
		findings = append(findings, finding{v1alpha1.ReasonRolling, fmt.Sprintf("%d of %d Sentinel pods are outdated", s.plan.rolling, s.plan.size)})
	}
	return told(v1alpha1.ConditionProgressing, findings, "nothing is to be changed")
}

// progressOf is the reason an action gives for progressing; empty for what is done when it is applied.
func progressOf(action Action) string {
	switch action.(type) {
	case Register, Remove, SetCredentials, SetSetting:
		return v1alpha1.ReasonRegistering
	case Reset:
		return v1alpha1.ReasonForgetting
	case ReplacePod:
		return v1alpha1.ReasonRolling
	case Scale:
		return v1alpha1.ReasonScaling
	}
	return ""
}

// configurationWarning tells what of the spec has no effect or is unwise.
func (s *summary) configurationWarning() metav1.Condition {
	var findings []finding
	for _, warned := range s.plan.warnings {
		findings = append(findings, finding(warned))
	}
	for i := range s.plan.monitors {
		m := &s.plan.monitors[i]
		for _, at := range s.views(m.name) {
			for _, text := range refusals(m, s.memory[Key{Run: at.run, Monitor: m.name}]) {
				findings = append(findings, finding{v1alpha1.ReasonSettingRefused, text})
			}
		}
	}
	return told(v1alpha1.ConditionConfigurationWarning, findings, "all of the configuration is in use")
}

// refusals are what a Sentinel said to settings that are still asked for, sorted.
func refusals(m *monitor, record Record) []string {
	var texts []string
	for key, value := range m.settings {
		if words, refused := record.Refused[RefusedKey(key, value)]; refused {
			texts = append(texts, fmt.Sprintf("monitor %s: %s %s was refused: %s", m.name, key, value, words))
		}
	}
	slices.Sort(texts)
	return texts
}

// monitorConflict tells which Valkeys are left alone, or what somebody else does with the Sentinels.
func (s *summary) monitorConflict() metav1.Condition {
	var findings []finding
	for _, conflict := range s.Conflicts {
		findings = append(findings, finding{v1alpha1.ReasonMonitoredByOther,
			fmt.Sprintf("Valkey %s is monitored by the older ValkeySentinel %s", conflict.Valkey, conflict.Holder)})
	}
	for i := range s.plan.monitors {
		if m := &s.plan.monitors[i]; m.mismatch != "" && len(s.views(m.name)) == 0 {
			findings = append(findings, finding{v1alpha1.ReasonTLSMismatch, m.mismatch})
		}
	}
	for _, text := range s.plan.taken {
		findings = append(findings, finding{v1alpha1.ReasonMonitorNameTaken, text})
	}
	for _, text := range s.plan.foreign {
		findings = append(findings, finding{v1alpha1.ReasonForeignMonitor, text})
	}
	return told(v1alpha1.ConditionMonitorConflict, findings, "no Valkey that is selected is monitored by anybody else")
}
