// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

var (
	alone       = &v1alpha1.TLSSpec{Enabled: true, SecretName: "c"}
	besidePlain = &v1alpha1.TLSSpec{Enabled: true, SecretName: "c", AllowUnencrypted: true}
	bootBeside  = &boot.TLS{Port: naming.PortSentinelTLS, Plaintext: true}
	bootAlone   = &boot.TLS{}
)

// watched is a Valkey that the Sentinels monitor, and how far it is.
func watched(tls *v1alpha1.TLSSpec, status metav1.ConditionStatus, reason string) Valkey {
	v := Valkey{Monitor: "v", Object: &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "v"}}}
	v.Object.Spec.Networking.TLS = tls
	if status != "" {
		v.Object.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionEncrypted, Status: status, Reason: reason}}
	}
	return v
}

// running is a set whose three pods are as its workload says, and whose boot settings have the TLS.
func running(asked *v1alpha1.TLSSpec, has *boot.TLS, valkeys ...Valkey) *draft {
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	set.Spec.Replicas, set.Spec.Networking.TLS = 3, asked
	d := &draft{Observed: Observed{Set: set, Valkeys: valkeys, Noted: boot.Sentinel{TLS: has}, Certificate: desired.Certificate{Serial: "1"}}}
	d.Objects.Workload = &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{naming.AnnotationRevision: "r"}}}
	if has != nil {
		volume := corev1.Volume{Name: "tls"}
		volume.Secret = &corev1.SecretVolumeSource{SecretName: "c"}
		d.Objects.Workload.Spec.Template.Spec.Volumes = []corev1.Volume{volume}
	}
	d.Objects.Pods = map[string]*corev1.Pod{}
	for i := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: naming.SentinelPod("s", i), Annotations: map[string]string{naming.AnnotationRevision: "r"}}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if has != nil && !has.Plaintext {
			pod.Annotations[naming.AnnotationEncrypted] = "true"
		}
		d.Objects.Pods[pod.Name] = pod
		monitors := map[string]topology.MonitorView{}
		for _, v := range valkeys {
			monitors[v.Monitor] = topology.MonitorView{}
		}
		d.Sentinels = append(d.Sentinels, Sentinel{View: topology.SentinelView{Reach: topology.Reach{Class: topology.ReachOK}, Monitors: monitors}})
	}
	return d
}

// TestSentinelsMoveWithTheirValkeys: what the set is to have at each point of the way, and what is said of it.
func TestSentinelsMoveWithTheirValkeys(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	waiting := watched(alone, no, v1alpha1.ReasonWaitingForSentinels)
	moved := watched(alone, yes, v1alpha1.ReasonAsExpected)
	outdated := running(alone, bootBeside, waiting)
	outdated.Objects.Pods["valkey-sentinel-s-1"].Annotations[naming.AnnotationRevision] = "older"
	unusable := running(alone, bootAlone, moved)
	unusable.Certificate.Reason = v1alpha1.ReasonCertificateUnusable
	other := running(alone, bootAlone, moved)
	other.Sentinels[2].Served = "2"
	unregistered := running(alone, bootBeside, watched(nil, "", ""))
	for i := range unregistered.Sentinels {
		unregistered.Sentinels[i].View.Monitors = nil
	}
	fresh := running(alone, nil)
	fresh.Objects.Workload, fresh.Objects.Pods = nil, nil
	for _, c := range []struct {
		name   string
		d      *draft
		want   string
		status metav1.ConditionStatus
		reason string
	}{
		{"nothing asked", running(nil, nil), "", "", ""},
		{"a new set", fresh, "alone", yes, v1alpha1.ReasonAsExpected},
		{"a running one is prepared first", running(alone, nil, waiting), "beside", no, v1alpha1.ReasonPreparingTLS},
		{"one pod is of the old workload", outdated, "beside", no, v1alpha1.ReasonPreparingTLS},
		{"a Valkey is not asked to", running(alone, bootBeside, watched(nil, "", "")), "beside", no, v1alpha1.ReasonWaitingForValkeys},
		{"a Valkey keeps plaintext beside", running(alone, bootBeside, watched(besidePlain, no, v1alpha1.ReasonPlaintextServed)), "beside", no, v1alpha1.ReasonWaitingForValkeys},
		{"a Valkey that nobody monitors does not count", unregistered, "alone", no, v1alpha1.ReasonSwitchingTLS},
		{"a Valkey is not prepared", running(alone, bootBeside, watched(alone, no, v1alpha1.ReasonPreparingTLS)), "beside", no, v1alpha1.ReasonWaitingForValkeys},
		{"the servers go first", running(alone, bootBeside, waiting), "beside", no, v1alpha1.ReasonSwitchingTLS},
		{"the servers are on their way", running(alone, bootBeside, watched(alone, no, v1alpha1.ReasonSwitchingTLS)), "beside", no, v1alpha1.ReasonSwitchingTLS},
		{"then the Sentinels", running(alone, bootBeside, moved), "alone", no, v1alpha1.ReasonSwitchingTLS},
		{"there", running(alone, bootAlone, moved), "alone", yes, v1alpha1.ReasonAsExpected},
		{"another certificate is served", other, "alone", no, v1alpha1.ReasonCertificateNotServed},
		{"a certificate that cannot be used", unusable, "alone", no, v1alpha1.ReasonCertificateUnusable},
		{"back, and a Valkey is not asked to", running(besidePlain, bootAlone, moved), "alone", yes, v1alpha1.ReasonWaitingForValkeys},
		{"back, the servers go first", running(besidePlain, bootAlone, watched(besidePlain, yes, v1alpha1.ReasonWaitingForSentinels)), "alone", no, v1alpha1.ReasonSwitchingTLS},
		{"back, then the Sentinels", running(besidePlain, bootAlone, watched(besidePlain, no, v1alpha1.ReasonPlaintextServed)), "beside", no, v1alpha1.ReasonSwitchingTLS},
		{"beside plaintext", running(besidePlain, bootBeside, watched(besidePlain, no, v1alpha1.ReasonPlaintextServed)), "beside", no, v1alpha1.ReasonPlaintextServed},
		{"off", running(nil, bootBeside), "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, said := c.d.encryption()
			got := stageOf(now)
			if got != c.want || said.Status != c.status || said.Reason != c.reason {
				t.Errorf("%q, %s %s (%s); want %q, %s %s", got, said.Status, said.Reason, said.Message, c.want, c.status, c.reason)
			}
		})
	}
}

// What speaks otherwise than the Sentinels is not registered: they would hold it for down.
func TestMismatch(t *testing.T) {
	for _, c := range []struct {
		has      *boot.TLS
		valkey   Valkey
		mismatch bool
	}{
		{nil, watched(nil, "", ""), false},
		{nil, watched(alone, metav1.ConditionTrue, v1alpha1.ReasonAsExpected), true},
		{bootBeside, watched(besidePlain, metav1.ConditionFalse, v1alpha1.ReasonPlaintextServed), false},
		{bootBeside, watched(alone, metav1.ConditionTrue, v1alpha1.ReasonAsExpected), true},
		{bootAlone, watched(nil, "", ""), true},
		{bootAlone, watched(alone, metav1.ConditionFalse, v1alpha1.ReasonPreparingTLS), true},
		{bootAlone, watched(alone, metav1.ConditionTrue, v1alpha1.ReasonAsExpected), false},
	} {
		d := running(alone, c.has, c.valkey)
		if why := d.mismatchOf(&d.Valkeys[0]); (why != "") != c.mismatch {
			t.Errorf("Sentinels %+v, Valkey %+v: %q", c.has, c.valkey.Object.Status.Conditions, why)
		}
	}
}

// A Sentinel that cannot read a new certificate by itself is replaced for it; one of 9.1 is not.
func TestWhoIsReplacedForACertificate(t *testing.T) {
	for version, want := range map[string]bool{"8.0.1": true, "8.1.3": true, "9.0.0": true, "9.1.2": false, "10.0.0": false, "": true} {
		d := running(alone, bootAlone)
		d.Sentinels[0].Version, d.Sentinels[0].Served = version, "2"
		if got := d.servesAnother(0); got != want {
			t.Errorf("version %q: replaced: %t, want %t", version, got, want)
		}
		if d.servesAnother(1) {
			t.Error("one of which nothing is known is replaced")
		}
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
