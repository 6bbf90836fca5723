// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// encryption is where a Valkey stands on its way between plaintext and TLS.
//
// Servers that follow each other, and the Sentinels that watch them, must all speak the same on the same port. So a running Valkey goes to TLS in
// two steps: first every pod gets the certificate and serves TLS beside plaintext, which nothing but clients notices; then, with its Sentinels,
// all servers change what they speak on the usual port, under which connections that are open go on. It goes back the same way. The nodes' specs
// are the record of how far it is.
type encryption struct {
	// now is the TLS that nodes, Services and boot settings are to have at this moment.
	now *v1alpha1.TLSSpec
	finding
	// missing: nodes cannot be made yet.
	missing bool
	// awaits: cert-manager has been asked, and nothing depends on its answer yet.
	awaits bool
}

// encryption decides how far the Valkey may go now.
func (o *Observed) encryption() encryption {
	asked := o.Valkey.TLS()
	have := o.nodesTLS()
	switch {
	case asked.IsOn() && o.Certificate.Reason != "" && !o.goesOn(asked, have):
		e := encryption{now: asked, finding: no(o.Certificate.Reason, o.Certificate.Message), missing: len(have) == 0}
		if len(have) > 0 {
			e.now = have[0]
		}
		has := func(tls *v1alpha1.TLSSpec) bool { return tls.IsOn() && tls.SecretName == asked.SecretName }
		e.awaits = e.reason == v1alpha1.ReasonCertificateNotReady && !slices.ContainsFunc(have, has)
		return e
	case len(have) == 0 || slices.IndexFunc(have, func(t *v1alpha1.TLSSpec) bool { return !t.IsOnly() }) < 0 && asked.IsOnly():
		return encryption{now: asked, finding: o.served(asked)}
	case asked.IsOnly():
		return o.towardsTLS(asked, have)
	default:
		return o.towardsPlaintext(asked, have)
	}
}

// goesOn tells whether everything that is asked for is so already, with a certificate that can be used: what cert-manager says of the next one does
// not matter to what is served now.
func (o *Observed) goesOn(asked *v1alpha1.TLSSpec, have []*v1alpha1.TLSSpec) bool {
	differs := func(tls *v1alpha1.TLSSpec) bool {
		return !tls.IsOn() || tls.SecretName != asked.SecretName || tls.AllowUnencrypted != asked.AllowUnencrypted
	}
	return o.Certificate.IsUsable() && len(have) > 0 && !slices.ContainsFunc(have, differs)
}

// beside is the same TLS with plaintext beside it.
func beside(tls *v1alpha1.TLSSpec) *v1alpha1.TLSSpec {
	both := tls.DeepCopy()
	both.AllowUnencrypted = true
	port := both.PortBeside(naming.PortValkeyTLS, naming.PortValkey)
	both.Port = &port
	return both
}

// nodesTLS is what the wanted nodes that exist have.
func (o *Observed) nodesTLS() []*v1alpha1.TLSSpec {
	var have []*v1alpha1.TLSSpec
	for _, n := range o.Nodes {
		if n.Index < wantedNodes(o.Valkey) {
			have = append(have, n.Object.Spec.TLS)
		}
	}
	return have
}

func (o *Observed) towardsTLS(asked *v1alpha1.TLSSpec, have []*v1alpha1.TLSSpec) encryption {
	if slices.ContainsFunc(have, (*v1alpha1.TLSSpec).IsOnly) {
		return encryption{now: asked, finding: o.served(asked)} // it has begun
	}
	prepared := 0
	for _, n := range o.Nodes {
		m, _ := o.Snapshot.Member(n.Object.Name)
		if n.Object.Spec.TLS.IsOn() && n.Object.Spec.TLS.SecretName == asked.SecretName && isSettled(n) && m.Reach.OK() && m.Listeners.TLS != 0 {
			prepared++
		}
	}
	switch {
	case prepared < max(len(o.Nodes), wantedNodes(o.Valkey)):
		return encryption{now: beside(asked), finding: no(v1alpha1.ReasonPreparingTLS,
			fmt.Sprintf("%d of %d nodes serve TLS beside plaintext", prepared, wantedNodes(o.Valkey)))}
	case !o.sentinelsMove(true):
		return encryption{now: beside(asked), finding: no(v1alpha1.ReasonWaitingForSentinels,
			fmt.Sprintf("every node serves TLS beside plaintext; the rest is done together with ValkeySentinel %s, which is not prepared: see its condition Encrypted", o.Monitoring.Set.Name))}
	}
	return encryption{now: asked, finding: no(v1alpha1.ReasonSwitchingTLS, "the servers move to TLS")}
}

func (o *Observed) towardsPlaintext(asked *v1alpha1.TLSSpec, have []*v1alpha1.TLSSpec) encryption {
	only := slices.IndexFunc(have, (*v1alpha1.TLSSpec).IsOnly)
	some := slices.IndexFunc(have, (*v1alpha1.TLSSpec).IsOn)
	switch {
	case only >= 0 && !o.sentinelsMove(false):
		return encryption{now: have[only], finding: yes(v1alpha1.ReasonWaitingForSentinels,
			fmt.Sprintf("plaintext is served again together with ValkeySentinel %s, which is not asked to: see its condition Encrypted", o.Monitoring.Set.Name))}
	case asked.IsOn() && only >= 0:
		return encryption{now: asked, finding: no(v1alpha1.ReasonSwitchingTLS, "the servers move to plaintext beside TLS")}
	case asked.IsOn():
		return encryption{now: asked, finding: o.served(asked)}
	case some < 0:
		return encryption{}
	case only >= 0 || !o.allServePlaintext():
		return encryption{now: beside(have[some]), finding: no(v1alpha1.ReasonSwitchingTLS, "the servers move to plaintext, before they lose their certificates")}
	}
	return encryption{}
}

// isSwitching tells whether servers, or the Sentinels that watch them, are between plaintext and TLS at this moment.
func (p *pass) isSwitching() bool {
	if p.plan.encrypted.reason == v1alpha1.ReasonSwitchingTLS {
		return true
	}
	set := p.o.Monitoring.Set
	if set == nil {
		return false
	}
	encrypted := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionEncrypted)
	return encrypted != nil && encrypted.Reason == v1alpha1.ReasonSwitchingTLS
}

func (o *Observed) allServePlaintext() bool {
	for _, n := range o.Nodes {
		if m, _ := o.Snapshot.Member(n.Object.Name); !m.Answered() || m.Listeners.Plaintext == 0 {
			return false
		}
	}
	return true
}

// sentinelsMove tells whether nobody monitors the Valkey, or those who do already speak TLS, or plaintext, or move to it now.
func (o *Observed) sentinelsMove(toTLS bool) bool {
	set := o.Monitoring.Set
	if set == nil {
		return true
	}
	encrypted := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionEncrypted)
	if encrypted == nil {
		return !toTLS
	}
	moves := encrypted.Reason == v1alpha1.ReasonSwitchingTLS && encrypted.ObservedGeneration == set.Generation &&
		set.Spec.Networking.TLS.IsOnly() == toTLS
	return moves || (encrypted.Status == metav1.ConditionTrue) == toTLS && encrypted.Reason != v1alpha1.ReasonSwitchingTLS
}

// stepEncryption tells of a certificate that cannot be used. What is to be done is in the nodes, the Services and the boot settings. Disrupts
// nothing.
func stepEncryption(p *pass) decision {
	if certificate := p.o.Certificate; certificate.Reason != "" && p.plan.encrypted.status != "" {
		return blocked(certificate.Reason, certificate.Message)
	}
	return decision{}
}

// served says whether every server listens and shows its certificate as it should.
func (o *Observed) served(asked *v1alpha1.TLSSpec) finding {
	if !asked.IsOn() {
		return finding{}
	}
	for _, n := range o.Nodes {
		m, _ := o.Snapshot.Member(n.Object.Name)
		listens := m.Listeners.TLS != 0 && (m.Listeners.Plaintext != 0) == asked.AllowUnencrypted
		serial := o.Served[n.Object.Name]
		switch {
		case n.Pod == nil:
			continue // told by other conditions
		case !desired.HasCertificate(n.Pod, asked.SecretName):
			return no(v1alpha1.ReasonPreparingTLS, n.Object.Name+" gets the certificate with its next pod")
		case !m.Answered():
			continue
		case !listens:
			return no(v1alpha1.ReasonSwitchingTLS, n.Object.Name+" does not listen as it should yet")
		case serial != "" && serial != o.Certificate.Serial:
			return no(v1alpha1.ReasonCertificateNotServed, fmt.Sprintf("%s serves certificate %s; Secret %s holds %s",
				n.Object.Name, serial, asked.SecretName, o.Certificate.Serial))
		}
	}
	certificate := fmt.Sprintf("Secret %s: %s", asked.SecretName, o.Certificate)
	if asked.AllowUnencrypted {
		return no(v1alpha1.ReasonPlaintextServed, "TLS is served beside plaintext; "+certificate)
	}
	return yes(v1alpha1.ReasonAsExpected, "TLS alone is served; "+certificate)
}

// staged is the look with the TLS that is to be there at this moment in place of that of the spec.
func (o Observed) staged(e encryption) Observed {
	valkey := *o.Valkey
	valkey.Spec.Networking.TLS = e.now
	o.Valkey = &valkey
	return o
}

// nowServed is which certificate each node serves, by this look or an earlier one at the same pod.
func (o *Observed) nowServed() map[string]ServedBy {
	served := map[string]ServedBy{}
	for _, n := range o.Nodes {
		if serial := o.Served[n.Object.Name]; serial != "" && n.Pod != nil {
			served[n.Object.Name] = ServedBy{Pod: n.Pod.UID, Serial: serial}
		}
	}
	return served
}
