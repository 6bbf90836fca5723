// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
)

// The Certificate of the Sentinels is asked for, waited for and removed; and what is said meanwhile.
func TestCertificateOfCertManager(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	issuer := v1alpha1.IssuerRef{Name: "i", Kind: "Issuer", Group: "cert-manager.io"}
	asks := &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{IssuerRef: issuer}}
	moved := watched(alone, yes, v1alpha1.ReasonAsExpected)
	// set runs with the TLS and mounts the Secret, if any; there is a Certificate, of which cert-manager says the status, if any.
	set := func(spec *v1alpha1.TLSSpec, has *boot.TLS, secret, status string) *draft {
		d := running(spec, has, moved)
		if has != nil {
			d.Objects.Workload.Spec.Template.Spec.Volumes[0].Secret.SecretName = secret
		}
		if status != "" {
			asking := d.Set.DeepCopy()
			asking.Spec.Networking.TLS = asks
			d.Issuance.Live = desired.SentinelCertificate(asking, "")
			d.Issuance.Live.Object["status"] = map[string]any{"conditions": []any{
				map[string]any{"type": "Ready", "status": status, "reason": "Expired", "message": "its words"}}}
		}
		return d
	}
	const byIt = "valkey-sentinel-s-tls"
	missing := func(d *draft) *draft {
		d.Certificate = desired.Certificate{Reason: v1alpha1.ReasonSecretMissing, Message: "no Secret"}
		return d
	}
	lacking := set(asks, nil, "", "")
	lacking.Issuance.Lacking = "no kind Certificate"
	foreign := set(asks, nil, "", "True")
	foreign.Issuance.Live.SetOwnerReferences(nil)
	used := set(alone, bootAlone, byIt, "True")
	used.Issuance.UsedBy = "pod x"
	foreignUnasked := set(nil, nil, "", "True")
	foreignUnasked.Issuance.Live.SetOwnerReferences(nil)
	for _, c := range []struct {
		name    string
		d       *draft
		action  string // on the Certificate
		want    string // "", "beside" or "alone"
		status  metav1.ConditionStatus
		reason  string
		blocked string
	}{
		{"asks, and waits", missing(set(asks, nil, "", "")), "apply", "", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"not issued yet", missing(set(asks, nil, "", "False")), "", "", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"Ready, and the Secret is not there", missing(set(asks, nil, "", "True")), "", "", no, v1alpha1.ReasonSecretMissing, v1alpha1.ReasonSecretMissing},
		{"issued", set(asks, nil, "", "True"), "", "beside", no, v1alpha1.ReasonPreparingTLS, ""},
		{"no cert-manager", missing(lacking), "", "", no, v1alpha1.ReasonCertManagerMissing, v1alpha1.ReasonCertManagerMissing},
		{"somebody else's", foreign, "", "", no, v1alpha1.ReasonForeignObject, v1alpha1.ReasonForeignObject},
		{"in place of a Secret of a person's", missing(set(asks, bootAlone, "c", "False")), "", "alone", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"there", set(asks, bootAlone, byIt, "True"), "", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"there, and no longer Ready", set(asks, bootAlone, byIt, "False"), "", "alone", yes, v1alpha1.ReasonAsExpected, v1alpha1.ReasonCertificateNotReady},
		{"beside plaintext, and goes no further", set(asks, bootBeside, byIt, "False"), "", "beside", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"no longer asked for, and used", used, "", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"no longer asked for, nor used", set(nil, nil, "", "True"), "delete", "", "", "", ""},
		{"somebody else's, and never asked for", foreignUnasked, "", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.d.plan.Settled = map[string]string{}
			stepCertificate(c.d)
			stepEncryption(c.d)
			got, said := stageOf(c.d.Set.Spec.Networking.TLS), c.d.plan.encrypted
			if got != c.want || said.Status != c.status || said.Reason != c.reason {
				t.Errorf("%q, %s %s (%s); want %q, %s %s", got, said.Status, said.Reason, said.Message, c.want, c.status, c.reason)
			}
			if c.blocked == v1alpha1.ReasonCertificateNotReady && c.d.Issuance.Live != nil && !strings.Contains(said.Message, "Expired: its words") {
				t.Errorf("it does not have cert-manager's words: %s", said.Message)
			}
			action, blocked := "", ""
			if i := slices.IndexFunc(c.d.plan.Actions, func(a Action) bool { return strings.HasSuffix(a.String(), " Certificate "+byIt) }); i >= 0 {
				action, _, _ = strings.Cut(c.d.plan.Actions[i].String(), " ")
			}
			for _, b := range c.d.plan.Blocked {
				blocked = b.Reason
			}
			if waits := c.reason == v1alpha1.ReasonCertificateNotReady && c.d.mountedSecret() != byIt; c.d.plan.awaits != waits {
				t.Errorf("what is blocked is on its way: %t, want %t", c.d.plan.awaits, waits)
			}
			if action != c.action || blocked != c.blocked || c.d.withoutCertificate != (blocked != "") {
				t.Errorf("%q, blocked %q; want %q, %q: %s", action, blocked, c.action, c.blocked, c.d.plan)
			}
		})
	}
}
