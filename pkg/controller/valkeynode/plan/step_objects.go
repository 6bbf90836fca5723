// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepClaim keeps the volume's claim: made where there is none, taken up where an earlier node of the name left one, grown, never shrunk and
// never deleted. It disrupts nothing.
func stepClaim(d *draft) {
	if d.Node.Spec.Persistence == nil {
		return
	}
	claim := d.Objects.Claim
	if claim == nil {
		d.apply(KindClaim, nil, desired.NodeClaim(d.Node, nil), true)
		return
	}
	if claim.DeletionTimestamp != nil {
		d.block(KindClaim, claim.Name, v1alpha1.ReasonClaimLost, "the volume claim %s is being deleted", claim.Name)
		return
	}
	d.apply(KindClaim, claim, desired.NodeClaim(d.Node, claim), desired.IsNodeClaim(claim, d.Node))
}

// stepService keeps the governing Service, which gives the pod its host name. It disrupts nothing.
func stepService(d *draft) {
	service := d.Objects.Service
	if service == nil {
		d.apply(KindService, nil, desired.NodeService(d.Node), true)
		return
	}
	d.apply(KindService, service, desired.NodeService(d.Node), d.isOurs(service))
}

// stepConfigMap keeps the ConfigMap of a node that has none of its Valkey. It disrupts nothing: the agent reads it when the server starts.
func stepConfigMap(d *draft) {
	want, err := desired.NodeConfigMap(d.Node, d.Environment.DNS)
	if err != nil {
		d.block(KindConfigMap, naming.NodeConfigMap(d.Node.Name), v1alpha1.ReasonApplyFailed, "%v", err)
		return
	}
	if want == nil {
		return
	}
	configMap := d.Objects.ConfigMap
	if configMap == nil {
		d.apply(KindConfigMap, nil, want, true)
		return
	}
	d.apply(KindConfigMap, configMap, want, d.isOurs(configMap))
}

func (d *draft) isOurs(child metav1.Object) bool { return desired.IsOwnedBy(child, d.Node) }
