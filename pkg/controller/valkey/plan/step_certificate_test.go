// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
)

// byCertManager asks cert-manager; byIt is what nodes then have.
func byCertManager(changes ...func(*v1alpha1.TLSSpec)) *v1alpha1.TLSSpec {
	tls := &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{IssuerRef: v1alpha1.IssuerRef{Name: "i", Kind: "Issuer", Group: "cert-manager.io"}}}
	for _, change := range changes {
		change(tls)
	}
	return tls
}

func byIt(change func(*v1alpha1.TLSSpec)) *v1alpha1.TLSSpec {
	tls := &v1alpha1.TLSSpec{Enabled: true, SecretName: "valkey-v-tls"}
	if change != nil {
		change(tls)
	}
	return tls
}

func withPlaintext(tls *v1alpha1.TLSSpec) { tls.AllowUnencrypted = true }

// asked is the Certificate as it was asked for by that spec, with what cert-manager says.
func asked(tls *v1alpha1.TLSSpec, status, reason string) func(*Observed) {
	return func(o *Observed) {
		valkey := o.Valkey.DeepCopy()
		valkey.Spec.Networking.TLS = tls
		o.Issuance.Live = desired.ValkeyCertificate(valkey, 2, "cluster.local")
		o.Issuance.Live.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": status, "reason": reason, "message": "its words"}}}
	}
}

// The Certificate is asked for, waited for, changed and removed; and what is said meanwhile.
func TestCertificateOfCertManager(t *testing.T) {
	const none, yes, no = v1alpha1.FailoverModeNone, metav1.ConditionTrue, metav1.ConditionFalse
	cm := byCertManager()
	ready, pending, usable := asked(cm, "True", "Ready"), asked(cm, "False", "DoesNotExist"), certificate("")
	missing := certificate(v1alpha1.ReasonSecretMissing)
	noSecret := func(o *Observed) { missing(o); o.Certificate.Serial = "" }
	foreign := func(o *Observed) { ready(o); o.Issuance.Live.SetOwnerReferences(nil) }
	lacking := func(o *Observed) { o.Issuance = desired.Issuance{Lacking: "no kind Certificate"} }
	fresh := func(o *Observed) { o.Nodes, o.Snapshot.Members = nil, nil }
	bigger := func(o *Observed) { o.Valkey.Spec.Replicas = 16 }
	otherIssuer := byCertManager(func(tls *v1alpha1.TLSSpec) { tls.CertManager.IssuerRef.Name = "j" })
	used := func(o *Observed) { o.Issuance.UsedBy = "pod v-0-0" }
	for _, c := range []struct {
		name    string
		changes []func(*Observed)
		action  string // on the Certificate
		want    string // "", "beside" or "alone"
		status  metav1.ConditionStatus
		reason  string
		blocked string
	}{
		{"a new instance asks, and waits", []func(*Observed){asks(cm), fresh, noSecret}, "apply", "alone", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"a running one asks, and waits", []func(*Observed){asks(cm), have(nil, 0, 1), noSecret}, "apply", "", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"not issued yet", []func(*Observed){asks(cm), have(nil, 0, 1), noSecret, pending}, "", "", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"not Ready, over a Secret that is left from before", []func(*Observed){asks(cm), have(nil, 0, 1), usable, pending}, "", "", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"Ready, and the Secret is not there", []func(*Observed){asks(cm), have(nil, 0, 1), noSecret, ready}, "", "", no, v1alpha1.ReasonSecretMissing, v1alpha1.ReasonSecretMissing},
		{"issued", []func(*Observed){asks(cm), have(nil, 0, 1), usable, ready}, "", "beside", no, v1alpha1.ReasonPreparingTLS, ""},
		{"issued again for a Secret of a person's", []func(*Observed){asks(cm), have(tlsAlone(), 0, 1), noSecret, pending}, "", "alone", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"no cert-manager, and plaintext", []func(*Observed){asks(cm), have(nil, 0, 1), noSecret, lacking}, "", "", no, v1alpha1.ReasonCertManagerMissing, v1alpha1.ReasonCertManagerMissing},
		{"somebody else's", []func(*Observed){asks(cm), have(nil, 0, 1), usable, foreign}, "", "", no, v1alpha1.ReasonForeignObject, v1alpha1.ReasonForeignObject},
		{"there", []func(*Observed){asks(cm), have(byIt(nil), 0, 1), usable, ready}, "", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"there, and no longer Ready", []func(*Observed){asks(cm), have(byIt(nil), 0, 1), usable, pending}, "", "alone", yes, v1alpha1.ReasonAsExpected, v1alpha1.ReasonCertificateNotReady},
		{"there, and cert-manager is taken away", []func(*Observed){asks(cm), have(byIt(nil), 0, 1), usable, lacking}, "", "alone", yes, v1alpha1.ReasonAsExpected, v1alpha1.ReasonCertManagerMissing},
		{"there, and the Secret is lost", []func(*Observed){asks(cm), have(byIt(nil), 0, 1), noSecret, pending}, "", "alone", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"beside plaintext, and no longer Ready", []func(*Observed){asks(byCertManager(withPlaintext)), have(byIt(withPlaintext), 0, 1), usable, pending}, "", "beside", no, v1alpha1.ReasonPlaintextServed, v1alpha1.ReasonCertificateNotReady},
		{"beside plaintext, and goes no further", []func(*Observed){asks(cm), have(byIt(withPlaintext), 0, 1), usable, pending}, "", "beside", no, v1alpha1.ReasonCertificateNotReady, v1alpha1.ReasonCertificateNotReady},
		{"another issuer", []func(*Observed){asks(otherIssuer), have(byIt(nil), 0, 1), usable, ready}, "apply", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"more nodes than it has names for", []func(*Observed){asks(cm), bigger, have(byIt(nil), 0, 1), usable, ready}, "apply", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"no longer asked for, and used", []func(*Observed){asks(tlsAlone()), have(byIt(nil), 0, 1), usable, ready, used}, "", "alone", no, v1alpha1.ReasonPreparingTLS, ""},
		{"no longer asked for, nor used", []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0, 1), usable, ready}, "delete", "alone", yes, v1alpha1.ReasonAsExpected, ""},
		{"no longer asked for, without TLS", []func(*Observed){have(nil, 0, 1), ready}, "delete", "", "", "", ""},
		{"somebody else's, and never asked for", []func(*Observed){have(nil, 0, 1), foreign}, "", "", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := given(none, 1, c.changes...)
			o = o.issued()
			e := o.encryption()
			got := stageOf(e.now)
			if got != c.want || e.status != c.status || e.reason != c.reason {
				t.Errorf("%q, %s %s (%s); want %q, %s %s", got, e.status, e.reason, e.message, c.want, c.status, c.reason)
			}
			if c.blocked == v1alpha1.ReasonCertificateNotReady && o.Issuance.Live != nil && !strings.Contains(e.message, "DoesNotExist: its words") {
				t.Errorf("it does not have cert-manager's words: %s", e.message)
			}
			plan := Compute(given(none, 1, c.changes...))
			if action := onCertificate(plan); action != c.action {
				t.Errorf("%q, want %q: %s", action, c.action, plan)
			}
			blocked := ""
			for _, b := range plan.Blocked {
				blocked = b.Reason
			}
			if blocked != c.blocked {
				t.Errorf("blocked: %q, want %q: %s", blocked, c.blocked, plan)
			}
			// Whoever waits for the first certificate lacks nothing; whoever has one that cannot be had again does.
			waits := c.reason == v1alpha1.ReasonCertificateNotReady && !slices.ContainsFunc(o.Nodes, func(n Node) bool {
				return n.Object.Spec.TLS.IsOn() && n.Object.Spec.TLS.SecretName == "valkey-v-tls"
			})
			degraded := meta.FindStatusCondition(Status(o, plan, nil).Conditions, v1alpha1.ConditionDegraded)
			if (degraded.Reason == c.blocked) != (c.blocked != "" && !waits) {
				t.Errorf("blocked: %q, waits: %t: %+v", c.blocked, waits, degraded)
			}
		})
	}
}

// onCertificate is the first word of what a plan does to the Certificate.
func onCertificate(plan Plan) string {
	i := slices.IndexFunc(plan.Actions, func(action Action) bool { return strings.Contains(action.String(), " Certificate valkey-v-tls") })
	if i < 0 {
		return ""
	}
	word, _, _ := strings.Cut(plan.Actions[i].String(), " ")
	return word
}
