// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// stepWarnings says what the spec holds that has no effect or is unwise. What the API warns about when the object is written lasts here;
// more is known of the Sentinels. Disrupts nothing.
func stepWarnings(p *pass) decision {
	var d decision
	warn := func(reason, message string) {
		d.warnings = append(d.warnings, Blocked{Reason: reason, Message: message})
	}
	for _, warning := range v1alpha1.ValkeyWarnings(p.o.Valkey) {
		reason := v1alpha1.ReasonUnwiseConfiguration
		if strings.Contains(warning, ": ignored: ") {
			reason = v1alpha1.ReasonIgnoredConfiguration
		}
		warn(reason, warning)
	}
	for _, n := range p.wanted() {
		applied := meta.FindStatusCondition(n.Object.Status.Conditions, v1alpha1.ConditionLiveConfigApplied)
		if applied != nil && applied.Status == metav1.ConditionFalse && applied.Reason == v1alpha1.ReasonConfigRefused {
			warn(v1alpha1.ReasonConfigRefused, fmt.Sprintf("%s refuses: %s", n.Object.Name, applied.Message))
		}
	}
	if text := quorumWarning(p.o); text != "" {
		warn(v1alpha1.ReasonUnwiseConfiguration, text)
	}
	if len(p.o.Valkey.Spec.Users) == 0 {
		warn(v1alpha1.ReasonOpenAccess, "spec.users: none, so that clients need no login")
	}
	return d
}

func quorumWarning(o *Observed) string {
	sentinel := o.Valkey.Spec.Failover.Sentinel
	if sentinel == nil || sentinel.Quorum == nil || o.Monitoring.Set == nil {
		return ""
	}
	quorum, size := *sentinel.Quorum, o.Monitoring.Set.Spec.Replicas
	switch {
	case quorum > size:
		return fmt.Sprintf("spec.failover.sentinel.quorum: %d of %d Sentinels can never agree", quorum, size)
	case quorum <= size/2:
		return fmt.Sprintf("spec.failover.sentinel.quorum: %d of %d is no majority, and a failover still needs one to be authorised", quorum, size)
	}
	return ""
}
