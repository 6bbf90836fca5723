// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

func tlsBeside() *v1alpha1.TLSSpec {
	port := int32(naming.PortValkeyTLS)
	return &v1alpha1.TLSSpec{Enabled: true, SecretName: "c", AllowUnencrypted: true, Port: &port}
}

func tlsAlone() *v1alpha1.TLSSpec { return &v1alpha1.TLSSpec{Enabled: true, SecretName: "c"} }

func asks(tls *v1alpha1.TLSSpec) func(*Observed) {
	return func(o *Observed) { o.Valkey.Spec.Networking.TLS = tls }
}

// have gives nodes a TLS, and their servers the ports that go with it.
func have(tls *v1alpha1.TLSSpec, indices ...int) func(*Observed) {
	return func(o *Observed) {
		for _, i := range indices {
			o.Nodes[i].Object.Spec.TLS = tls
			if tls.IsOn() {
				volume := corev1.Volume{Name: "tls"}
				volume.Secret = &corev1.SecretVolumeSource{SecretName: tls.SecretName}
				o.Nodes[i].Pod.Spec.Volumes = []corev1.Volume{volume}
			}
			listeners := topology.Listeners{Plaintext: naming.PortValkey}
			switch {
			case tls.IsOnly():
				listeners = topology.Listeners{TLS: naming.PortValkey}
			case tls.IsOn():
				listeners.TLS = naming.PortValkeyTLS
			}
			o.Snapshot.Members[i].Listeners = listeners
		}
	}
}

// setSays is what the ValkeySentinel says of itself.
func setSays(spec *v1alpha1.TLSSpec, status metav1.ConditionStatus, reason string) func(*Observed) {
	return func(o *Observed) {
		o.Monitoring.Set.Spec.Networking.TLS = spec
		o.Monitoring.Set.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: status, Reason: reason}}
	}
}

func certificate(reason string) func(*Observed) {
	return func(o *Observed) {
		o.Certificate = desired.Certificate{Serial: "1", NotAfter: testTime, Reason: reason, Message: "words"}
	}
}

// TestMovesBetweenPlaintextAndTLS: what nodes are to have at each point of the way, and what is said of it.
func TestMovesBetweenPlaintextAndTLS(t *testing.T) {
	const sentinel, none = v1alpha1.FailoverModeSentinel, v1alpha1.FailoverModeNone
	mute := func(o *Observed) { o.Snapshot.Members[1].Listeners = topology.Listeners{} }
	for _, c := range []struct {
		name    string
		mode    v1alpha1.FailoverMode
		changes []func(*Observed)
		want    string // "", "beside" or "alone"
		status  metav1.ConditionStatus
		reason  string
	}{
		{"nothing asked", none, nil, "", "", ""},
		{"a new instance", none, []func(*Observed){asks(tlsAlone()), func(o *Observed) { o.Nodes, o.Snapshot.Members = nil, nil }}, "alone", metav1.ConditionTrue, v1alpha1.ReasonAsExpected},
		{"a running one is prepared first", none, []func(*Observed){asks(tlsAlone()), have(nil, 0, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"one node has it", none, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0), have(nil, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"one does not listen yet", none, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), mute}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"one cannot be asked", none, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), member(1, unreachable)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"another Secret than theirs", none, []func(*Observed){asks(&v1alpha1.TLSSpec{Enabled: true, SecretName: "d"}), have(tlsBeside(), 0, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"prepared", none, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1)}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"half-way, after a crash of the controller", none, []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0), have(tlsBeside(), 1)}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"told, and not done", none, []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0, 1), func(o *Observed) { o.Snapshot.Members[1].Listeners.Plaintext = 6379 }}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"there", none, []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0, 1), certificate("")}, "alone", metav1.ConditionTrue, v1alpha1.ReasonAsExpected},
		{"another certificate is served", none, []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0, 1), certificate(""), func(o *Observed) { o.Served = map[string]string{"v-1": "2"} }}, "alone", metav1.ConditionFalse, v1alpha1.ReasonCertificateNotServed},

		{"the Sentinels have no TLS", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonWaitingForSentinels},
		{"the Sentinels are being prepared", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), setSays(tlsAlone(), metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonWaitingForSentinels},
		{"the Sentinels move the other way", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), setSays(tlsBeside(), metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonWaitingForSentinels},
		{"the Sentinels move too", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), setSays(tlsAlone(), metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS)}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"what the Sentinels say is of an older spec", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), setSays(tlsAlone(), metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS), func(o *Observed) { o.Monitoring.Set.Generation = 2 }}, "beside", metav1.ConditionFalse, v1alpha1.ReasonWaitingForSentinels},
		{"the Sentinels speak TLS already", sentinel, []func(*Observed){asks(tlsAlone()), have(tlsBeside(), 0, 1), setSays(tlsAlone(), metav1.ConditionTrue, v1alpha1.ReasonAsExpected)}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},

		{"back, and the Sentinels are not asked to", sentinel, []func(*Observed){asks(tlsBeside()), have(tlsAlone(), 0, 1), setSays(tlsAlone(), metav1.ConditionTrue, v1alpha1.ReasonAsExpected)}, "alone", metav1.ConditionTrue, v1alpha1.ReasonWaitingForSentinels},
		{"back, with the Sentinels", sentinel, []func(*Observed){asks(tlsBeside()), have(tlsAlone(), 0, 1), setSays(tlsBeside(), metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"back, without Sentinels", none, []func(*Observed){asks(tlsBeside()), have(tlsAlone(), 0, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"plaintext and TLS for one that has none", none, []func(*Observed){asks(tlsBeside()), have(nil, 0, 1)}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS},
		{"beside plaintext", none, []func(*Observed){asks(tlsBeside()), have(tlsBeside(), 0, 1), certificate("")}, "beside", metav1.ConditionFalse, v1alpha1.ReasonPlaintextServed},
		{"off, and one does not take plaintext yet", none, []func(*Observed){have(tlsBeside(), 0, 1), func(o *Observed) { o.Snapshot.Members[1].Listeners.Plaintext = 0 }}, "beside", metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS},
		{"off", none, []func(*Observed){have(tlsBeside(), 0, 1)}, "", "", ""},

		{"no Secret for a new instance", none, []func(*Observed){asks(tlsAlone()), certificate(v1alpha1.ReasonSecretMissing), func(o *Observed) { o.Nodes, o.Snapshot.Members = nil, nil }}, "alone", metav1.ConditionFalse, v1alpha1.ReasonSecretMissing},
		{"no Secret for a running one", none, []func(*Observed){asks(tlsAlone()), have(nil, 0, 1), certificate(v1alpha1.ReasonSecretMissing)}, "", metav1.ConditionFalse, v1alpha1.ReasonSecretMissing},
		{"a broken Secret under TLS", none, []func(*Observed){asks(tlsAlone()), have(tlsAlone(), 0, 1), certificate(v1alpha1.ReasonCertificateUnusable)}, "alone", metav1.ConditionFalse, v1alpha1.ReasonCertificateUnusable},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := given(c.mode, 1, c.changes...)
			e := o.encryption()
			got := stageOf(e.now)
			if got != c.want || e.status != c.status || e.reason != c.reason {
				t.Errorf("%q, %s %s (%s); want %q, %s %s", got, e.status, e.reason, e.message, c.want, c.status, c.reason)
			}
		})
	}
}

// While servers and Sentinels do not speak the same no pod is replaced; and nothing is made for an instance whose certificate is missing.
func TestNothingIsDisruptedBetweenPlaintextAndTLS(t *testing.T) {
	pending := func(o *Observed) { o.Nodes[1].Object.Status.PendingRevision = "new" }
	for _, c := range []struct {
		name  string
		o     Observed
		rolls bool
	}{
		{"settled", given(v1alpha1.FailoverModeSentinel, 1, pending), true},
		{"the servers move", given(v1alpha1.FailoverModeNone, 1, pending, asks(tlsAlone()), have(tlsAlone(), 0), have(tlsBeside(), 1)), false},
		{"the Sentinels move", given(v1alpha1.FailoverModeSentinel, 1, pending, asks(tlsAlone()), have(tlsAlone(), 0, 1), setSays(tlsAlone(), metav1.ConditionFalse, v1alpha1.ReasonSwitchingTLS)), false},
	} {
		plan := Compute(c.o)
		rolls := slices.ContainsFunc(plan.Actions, func(action Action) bool { _, is := action.(Replace); return is })
		if rolls != c.rolls {
			t.Errorf("%s: rolls: %t, want %t: %s", c.name, rolls, c.rolls, plan)
		}
	}
	o := given(v1alpha1.FailoverModeNone, 1, asks(tlsAlone()), certificate(v1alpha1.ReasonSecretMissing), func(o *Observed) { o.Nodes, o.Snapshot.Members = nil, nil })
	if plan := Compute(o); strings.Contains(plan.String(), "ValkeyNode") || len(plan.Blocked) == 0 {
		t.Errorf("without its certificate: %s", plan)
	}
}

// stageOf is a word for what is served: "", "beside" or "alone".
func stageOf(tls *v1alpha1.TLSSpec) string {
	switch {
	case tls.IsOnly():
		return "alone"
	case tls.IsOn():
		return "beside"
	}
	return ""
}
