// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// The API server answers with these when an object is written; where they last, the controller repeats them in the
// condition ConfigurationWarning. Each is "path: message".

// ValkeyWarnings is what is accepted in a Valkey and has no effect, or is unwise, as far as the object itself tells.
func ValkeyWarnings(valkey *Valkey) []string {
	var warnings []string
	spec, path := &valkey.Spec, field.NewPath("spec")
	switch mode := spec.Failover.Mode; {
	case mode == FailoverModeSentinel && spec.Replicas == 0:
		warnings = append(warnings, warning(path.Child("replicas"), "with failover.mode Sentinel and no replica there is nothing to fail over to"))
	case mode == FailoverModeNone && spec.Replicas > 0:
		warnings = append(warnings, warning(path.Child("failover", "mode"), "with None no replica is promoted when the primary is lost"))
		if spec.Persistence == nil {
			warnings = append(warnings, warning(path.Child("persistence"), "without it the data are lost when the primary's pod is replaced"))
		}
	}
	if spec.Failover.Operator != nil && spec.Failover.Mode != FailoverModeOperator {
		warnings = append(warnings, warning(path.Child("failover", "operator"), fmt.Sprintf("no effect with failover.mode %s", spec.Failover.Mode)))
	}
	warnings = append(warnings, uselessMonitor(path.Child("exporter"), &spec.Exporter)...)
	warnings = append(warnings, idleNetworkPolicy(path.Child("networking", "networkPolicy"), spec.Networking.NetworkPolicy)...)
	warnings = append(warnings, uselessUsers(path.Child("users"), spec.Users)...)
	warnings = append(warnings, ignoredDirectives(path.Child("config"), spec.Config, valkeyconf.OwnedByNode)...)
	if sentinel := spec.Failover.Sentinel; sentinel != nil {
		warnings = append(warnings,
			ignoredDirectives(path.Child("failover", "sentinel", "config"), sentinel.Config, notOfAMonitor)...)
		warnings = append(warnings, hastyMonitor(path.Child("failover", "sentinel", "config"), sentinel.Config)...)
	}
	return warnings
}

// ValkeySentinelWarnings is what is accepted in a ValkeySentinel and has no effect, or is unwise.
func ValkeySentinelWarnings(sentinel *ValkeySentinel) []string {
	var warnings []string
	spec, path := &sentinel.Spec, field.NewPath("spec")
	if spec.Replicas%2 == 0 {
		warnings = append(warnings, warning(path.Child("replicas"), fmt.Sprintf(
			"%d Sentinels survive the loss of no more of them than %d do", spec.Replicas, spec.Replicas-1)))
	}
	warnings = append(warnings, uselessMonitor(path.Child("exporter"), &spec.Exporter)...)
	// Elsewhere in Kubernetes an empty selector selects everything.
	if selector := spec.ValkeySelector; selector != nil && len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		warnings = append(warnings, warning(path.Child("valkeySelector"), "empty, and selects nothing: name labels that the Valkeys have"))
	}
	warnings = append(warnings, idleNetworkPolicy(path.Child("networking", "networkPolicy"), spec.Networking.NetworkPolicy)...)
	warnings = append(warnings, uselessUsers(path.Child("users"), spec.Users)...)
	return append(warnings, ignoredDirectives(path.Child("config"), spec.Config, valkeyconf.OwnedBySentinel)...)
}

// ValkeyNodeWarnings is what is accepted in a ValkeyNode and has no effect, or is unwise. Of a node that a Valkey made there
// is nothing to say.
func ValkeyNodeWarnings(node *ValkeyNode) []string {
	if metav1.GetControllerOf(node) != nil {
		return nil
	}
	warnings := []string{"metadata.ownerReferences: no Valkey owns this node: it runs, and nobody replicates it or fails it over"}
	return append(warnings, ignoredDirectives(field.NewPath("spec", "config"), node.Spec.Config, valkeyconf.OwnedByNode)...)
}

// UnwiseQuorum says what is wrong with a quorum of so many Sentinels; empty when nothing is. No quorum makes a failover without
// a majority: that is who authorises it.
func UnwiseQuorum(quorum, sentinels int32) string {
	switch {
	case quorum > sentinels:
		return fmt.Sprintf("a quorum of %d is more than the %d there are: no failover can be agreed on", quorum, sentinels)
	case quorum <= sentinels/2:
		return fmt.Sprintf("a quorum of %d is no majority of %d: so few may be wrong about the primary", quorum, sentinels)
	}
	return ""
}

// uselessMonitor says of a ServiceMonitor that it would find no exporter.
func uselessMonitor(path *field.Path, exporter *ExporterSpec) []string {
	if !exporter.ServiceMonitor.Enabled || exporter.Enabled {
		return nil
	}
	return []string{warning(path.Child("serviceMonitor"), "ignored: the exporter is not enabled")}
}

// uselessUsers are those whom the spec enables and gives neither a password nor leave to do without one: a user in Valkey, and no
// login. With enabled false or resetpass that was asked for.
func uselessUsers(path *field.Path, users []UserSpec) []string {
	var warnings []string
	for i := range users {
		user := &users[i]
		enabled := user.Enabled == nil || *user.Enabled
		if enabled && user.PasswordSecret == nil && !user.NoPass && !user.ResetPass {
			warnings = append(warnings, warning(path.Index(i), fmt.Sprintf(
				"nobody can log in as %s: it has no passwordSecret, and not nopass", user.Name)))
		}
	}
	return warnings
}

func ignoredDirectives(path *field.Path, directives map[string]string, owned func(string) (string, bool)) []string {
	var warnings []string
	for _, name := range sortedKeys(directives) {
		if reason, ok := owned(name); ok {
			warnings = append(warnings, warning(path.Key(name), "ignored: "+reason))
		}
	}
	return warnings
}

// notOfAMonitor tells whether a key means nothing among the settings of a monitor, and why.
func notOfAMonitor(key string) (string, bool) {
	if reason, owned := valkeyconf.OwnedByMonitor(key); owned {
		return reason, true
	}
	return "not a setting of a monitor", !valkeyconf.IsMonitorSetting(key)
}

// hastyDownAfter in milliseconds: Sentinel looks at its servers ten times a second.
const hastyDownAfter = 500

// hastyMonitor tells of a down-after that leaves no time for answers.
func hastyMonitor(path *field.Path, config map[string]string) []string {
	var warnings []string
	for _, name := range sortedKeys(config) {
		if milliseconds, err := strconv.Atoi(config[name]); err == nil && valkeyconf.IsDownAfter(name) && milliseconds < hastyDownAfter {
			warnings = append(warnings, warning(path.Key(name), fmt.Sprintf("below %d a late answer looks like a lost primary", hastyDownAfter)))
		}
	}
	return warnings
}

func warning(path *field.Path, message string) string { return path.String() + ": " + message }
