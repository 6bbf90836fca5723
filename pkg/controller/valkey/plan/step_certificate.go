// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepCertificate keeps the Certificate by which cert-manager is asked, or removes it when the spec no longer asks and nothing uses what it fills.
// Disrupts nothing. What stands in the way is told with the rest of TLS, by stepEncryption.
func stepCertificate(p *pass) decision {
	name, issuance := naming.ValkeyCertificate(p.o.Valkey.Name), p.o.Issuance
	switch {
	case issuance.Lacking != "":
		return decision{}
	case p.certificate == nil && issuance.MayBeRemoved(p.o.Valkey):
		return do(Delete{Kind: KindCertificate, Name: name, UID: issuance.Live.GetUID()})
	case p.certificate == nil, issuance.Live != nil && !issuance.IsOurs(p.o.Valkey):
		return decision{}
	}
	return child(p, issuance.Live, Apply{Kind: KindCertificate, Name: name, Config: desired.Foreign{Unstructured: p.certificate}, Secondary: true})
}

// wantedCertificate is what cert-manager is to be asked for; nil for nothing. It has names for the nodes that are still there, too.
func (o *Observed) wantedCertificate() *unstructured.Unstructured {
	return desired.ValkeyCertificate(o.Valkey, max(wantedNodes(o.Valkey), len(o.Nodes)), o.Environment.DNS.ClusterDomain)
}

// issued is the look with what cert-manager says in what is known of the Secret.
func (o Observed) issued() Observed {
	if o.Valkey.Spec.Networking.TLS.Asked() != nil {
		o.Certificate = o.Issuance.Of(o.Certificate, o.Valkey, naming.ValkeyCertificate(o.Valkey.Name))
	}
	return o
}
