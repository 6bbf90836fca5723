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
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepEncryption decides how far the set may go on its way between plaintext and TLS, and lets the other steps see that in place of the spec.
//
// A Sentinel speaks to servers and to its peers either by TLS or in plaintext, and reads that when it starts. So the set and the Valkeys that it
// monitors move together: every pod gets the certificate and takes TLS from clients beside plaintext; when all Valkeys are prepared too, their
// servers move first, under the connections that the Sentinels have; then the Sentinels are replaced, one after the other. The boot settings in
// force are the record of how far it is. It disrupts nothing.
func stepEncryption(d *draft) {
	now, condition := d.encryption()
	d.plan.encrypted = condition
	if d.Certificate.Reason != "" && condition.Status != "" {
		d.unwell = true
		d.block(d.Certificate.Reason, "%s", d.Certificate.Message)
		d.withoutCertificate = true
		d.plan.awaits = condition.Reason == v1alpha1.ReasonCertificateNotReady && d.mountedSecret() != d.Set.TLS().SecretName
	}
	d.waiting = d.waiting || condition.Reason == v1alpha1.ReasonSwitchingTLS
	set := *d.Set
	set.Spec.Networking.TLS = now
	d.Set = &set
}

func (d *draft) encryption() (*v1alpha1.TLSSpec, metav1.Condition) {
	asked, has := d.Set.TLS(), d.Noted.TLS
	switch {
	case d.goesOn(asked):
		return asked, d.served(asked)
	case asked.IsOn() && d.Certificate.Reason != "" && d.Objects.Workload != nil:
		return d.live(asked), no(d.Certificate.Reason, d.Certificate.Message)
	case asked.IsOn() && d.Certificate.Reason != "":
		return asked, no(d.Certificate.Reason, d.Certificate.Message)
	case d.Objects.Workload == nil, has == nil && !asked.IsOn(), has != nil && !has.Plaintext && asked.IsOnly():
		return asked, d.served(asked)
	case asked.IsOnly():
		return d.towardsTLS(asked)
	case has != nil && !has.Plaintext:
		return d.towardsPlaintext(asked)
	}
	return asked, d.served(asked)
}

// goesOn tells whether everything that is asked for is so already, with a certificate that can be used: what cert-manager says of the next one does
// not matter to what is served now.
func (d *draft) goesOn(asked *v1alpha1.TLSSpec) bool {
	has := d.Noted.TLS
	return asked.IsOn() && has != nil && has.Plaintext == asked.AllowUnencrypted && d.Certificate.IsUsable() && d.mountedSecret() == asked.SecretName
}

func no(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

func yes(reason, message string) metav1.Condition {
	return metav1.Condition{Type: v1alpha1.ConditionEncrypted, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

// live is what is in force, with what the spec asks for where that does not matter now.
func (d *draft) live(asked *v1alpha1.TLSSpec) *v1alpha1.TLSSpec {
	has, secret := d.Noted.TLS, d.mountedSecret()
	if has == nil || secret == "" {
		return nil
	}
	now := &v1alpha1.TLSSpec{Enabled: true, AllowUnencrypted: has.Plaintext}
	if asked.IsOn() {
		now = asked.DeepCopy()
		now.AllowUnencrypted = has.Plaintext
	}
	now.SecretName = secret
	return now
}

// mountedSecret is the Secret with the certificate that the workload has.
func (d *draft) mountedSecret() string {
	if d.Objects.Workload == nil {
		return ""
	}
	return desired.CertificateOf(d.Objects.Workload.Spec.Template)
}

// beside is the same TLS with plaintext beside it.
func beside(tls *v1alpha1.TLSSpec) *v1alpha1.TLSSpec {
	both := tls.DeepCopy()
	port := both.PortBeside(naming.PortSentinelTLS, naming.PortSentinel)
	both.AllowUnencrypted, both.Port = true, &port
	return both
}

func (d *draft) towardsTLS(asked *v1alpha1.TLSSpec) (*v1alpha1.TLSSpec, metav1.Condition) {
	both := beside(asked)
	if prepared := d.prepared(asked.SecretName); prepared < d.currentSize() {
		return both, no(v1alpha1.ReasonPreparingTLS, fmt.Sprintf("%d of %d Sentinels take TLS beside plaintext", prepared, d.currentSize()))
	}
	var others, waiting, moved []string
	for _, valkey := range d.registered() {
		tls := valkey.Object.Spec.Networking.TLS
		encrypted := meta.FindStatusCondition(valkey.Object.Status.Conditions, v1alpha1.ConditionEncrypted)
		switch {
		case !tls.IsOnly():
			others = append(others, valkey.Object.Name)
		case encrypted != nil && encrypted.Status == metav1.ConditionTrue:
			moved = append(moved, valkey.Object.Name)
		case encrypted == nil || encrypted.Reason != v1alpha1.ReasonWaitingForSentinels && encrypted.Reason != v1alpha1.ReasonSwitchingTLS:
			waiting = append(waiting, valkey.Object.Name)
		}
	}
	switch {
	case len(others) > 0:
		return both, no(v1alpha1.ReasonWaitingForValkeys, "TLS alone is not asked for by every Valkey that is monitored, and the Sentinels can speak only one: "+strings.Join(others, ", "))
	case len(waiting) > 0:
		return both, no(v1alpha1.ReasonWaitingForValkeys, "not prepared yet: "+strings.Join(waiting, ", "))
	case len(moved) < len(d.registered()):
		return both, no(v1alpha1.ReasonSwitchingTLS, "the servers of the Valkeys move to TLS; the Sentinels are next")
	}
	return asked, no(v1alpha1.ReasonSwitchingTLS, "the Sentinels move to TLS")
}

func (d *draft) towardsPlaintext(asked *v1alpha1.TLSSpec) (*v1alpha1.TLSSpec, metav1.Condition) {
	now := d.live(asked)
	if now == nil { // what is there cannot be told: it is made as it is asked for
		return asked, d.served(asked)
	}
	var others, encrypted []string
	for _, valkey := range d.registered() {
		switch {
		case valkey.Object.Spec.Networking.TLS.IsOnly():
			others = append(others, valkey.Object.Name)
		case meta.IsStatusConditionTrue(valkey.Object.Status.Conditions, v1alpha1.ConditionEncrypted):
			encrypted = append(encrypted, valkey.Object.Name)
		}
	}
	switch {
	case len(others) > 0:
		return now, yes(v1alpha1.ReasonWaitingForValkeys, "TLS alone is still asked for by Valkeys that are monitored, and the Sentinels can speak only one: "+strings.Join(others, ", "))
	case len(encrypted) > 0:
		return now, no(v1alpha1.ReasonSwitchingTLS, "the servers of the Valkeys move to plaintext beside TLS; the Sentinels are next")
	}
	return beside(now), no(v1alpha1.ReasonSwitchingTLS, "the Sentinels move to plaintext beside TLS")
}

// registered are the Valkeys that a Sentinel holds, or starts with.
func (d *draft) registered() []Valkey {
	return slices.DeleteFunc(slices.Clone(d.Valkeys), func(valkey Valkey) bool {
		_, noted := d.notedMonitor(valkey.Monitor)
		return !noted && len(d.views(valkey.Monitor)) == 0
	})
}

// prepared is how many Sentinels have the certificate and take both.
func (d *draft) prepared(secret string) int {
	if d.Noted.TLS == nil || d.mountedSecret() != secret {
		return 0
	}
	count := 0
	for i := range d.currentSize() {
		pod := d.Objects.Pods[naming.SentinelPod(d.Set.Name, i)]
		if isPodReady(pod) && pod.DeletionTimestamp == nil && pod.Annotations[naming.AnnotationRevision] == d.Objects.Workload.Annotations[naming.AnnotationRevision] {
			count++
		}
	}
	return count
}

// served says whether every Sentinel is as it should be and shows the certificate of the Secret.
func (d *draft) served(asked *v1alpha1.TLSSpec) metav1.Condition {
	if !asked.IsOn() {
		return metav1.Condition{}
	}
	for i := range d.Sentinels {
		if serial := d.Sentinels[i].Served; serial != "" && serial != d.Certificate.Serial {
			return no(v1alpha1.ReasonCertificateNotServed, fmt.Sprintf("Sentinel %d serves certificate %s; Secret %s holds %s",
				i, serial, asked.SecretName, d.Certificate.Serial))
		}
	}
	for _, pod := range d.Objects.Pods {
		if isEncrypted(pod) != asked.IsOnly() {
			return no(v1alpha1.ReasonSwitchingTLS, "the Sentinels move, one after the other; "+pod.Name+" is next")
		}
	}
	if asked.AllowUnencrypted {
		return no(v1alpha1.ReasonPlaintextServed, fmt.Sprintf("TLS is served beside plaintext; Secret %s: %s", asked.SecretName, d.Certificate))
	}
	return yes(v1alpha1.ReasonAsExpected, fmt.Sprintf("TLS alone is served; Secret %s: %s", asked.SecretName, d.Certificate))
}
