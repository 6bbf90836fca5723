// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// ListeningKeys are the directives that say what a server with TLS speaks, beside where it listens.
func ListeningKeys() []string { return []string{"tls-auth-clients", "tls-replication"} }

// stepListen changes what a running server speaks where its spec has TLS: beside plaintext, or alone. Connections that are open go on, those of
// replicas and Sentinels among them. A pod that does not have the certificate yet is replaced first. It disrupts nothing.
func stepListen(d *draft) {
	tls, pod := d.Node.Spec.TLS, d.Pod()
	if !tls.IsOn() || d.Server.Config == nil {
		return
	}
	if pod == nil || !desired.HasCertificate(pod, tls.SecretName) {
		d.plan.encrypted = standing{known: true, reason: v1alpha1.ReasonPreparingTLS, message: "the pod is to be replaced by one with the certificate"}
		return
	}
	settings := desired.Listening(tls)
	wanted, differs := topology.Listeners{}, ""
	for _, setting := range settings {
		switch value := setting.Value(); setting.Name {
		case "port":
			_, _ = fmt.Sscan(value, &wanted.Plaintext)
		case "tls-port":
			_, _ = fmt.Sscan(value, &wanted.TLS)
		case "tls-auth-clients", "tls-replication":
			if d.Server.Config[setting.Name] != value {
				differs = fmt.Sprintf("%s is %s, not %s", setting.Name, d.Server.Config[setting.Name], value)
			}
		}
	}
	if d.Server.Listeners != wanted {
		differs = fmt.Sprintf("ports are %v, not %v (plaintext, TLS)", d.Server.Listeners, wanted)
	}
	switch {
	case differs != "":
		d.soon = true
		d.plan.encrypted = standing{known: true, reason: v1alpha1.ReasonSwitchingTLS, message: "the server is told: " + differs}
		d.do(Listen{Settings: settings, Why: differs})
	case tls.AllowUnencrypted:
		d.plan.encrypted = standing{known: true, reason: v1alpha1.ReasonPlaintextServed, message: "the server takes TLS beside plaintext"}
	default:
		d.plan.encrypted = standing{known: true, settled: true, reason: v1alpha1.ReasonAsExpected, message: "the server takes TLS alone"}
	}
}

// setEncrypted leaves the condition as it is while the server cannot be asked: it says whether plaintext may be tried.
func (c *conditions) setEncrypted(at standing, outcomes []Outcome) {
	if !c.o.Node.Spec.TLS.IsOn() {
		return
	}
	for _, outcome := range outcomes {
		if _, ok := outcome.Action.(Listen); ok && outcome.Refused != "" {
			at.reason, at.message = v1alpha1.ReasonConfigRefused, "the server refuses: "+outcome.Refused
		}
	}
	if !at.known {
		for _, before := range c.o.Node.Status.Conditions {
			if before.Type == v1alpha1.ConditionEncrypted {
				c.all = append(c.all, before)
				return
			}
		}
	}
	c.setStanding(v1alpha1.ConditionEncrypted, at)
}
