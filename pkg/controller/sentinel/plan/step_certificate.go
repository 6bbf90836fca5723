// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepCertificate keeps the Certificate by which cert-manager is asked, or removes it when the spec no longer asks and nothing uses what it fills.
// It lets the step after it see what cert-manager says in what is known of the Secret, and that one tells it. It disrupts nothing.
func stepCertificate(d *draft) {
	name := naming.SentinelCertificate(d.Set.Name)
	want := desired.SentinelCertificate(d.Set, d.Environment.DNS.ClusterDomain)
	if want == nil {
		if d.Issuance.MayBeRemoved(d.Set) {
			d.do(Delete{Kind: KindCertificate, Name: name, UID: d.Issuance.Live.GetUID()})
		}
		return
	}
	d.Certificate = d.Issuance.Of(d.Certificate, d.Set, name)
	if d.Issuance.Lacking == "" && (d.Issuance.Live == nil || d.Issuance.IsOurs(d.Set)) {
		ensure(d, d.Issuance.Live, Apply{Kind: KindCertificate, Name: name, Config: desired.Foreign{Unstructured: want}, Secondary: true})
	}
}
