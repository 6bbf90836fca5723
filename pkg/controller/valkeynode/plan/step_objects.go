// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

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
	live := d.Objects.Claim
	c := child{kind: KindClaim, name: naming.NodeClaim(d.Node.Name), build: func() (runtime.ApplyConfiguration, error) {
		return desired.NodeClaim(d.Node, live), nil
	}}
	if live != nil {
		if live.DeletionTimestamp != nil {
			d.block(KindClaim, live.Name, v1alpha1.ReasonClaimLost, "the volume claim %s is being deleted", live.Name)
			return
		}
		c.live, c.isOurs = live, desired.IsNodeClaim(live, d.Node)
	}
	d.keep(c)
}

// stepService keeps the governing Service, which gives the pod its host name. It disrupts nothing.
func stepService(d *draft) {
	c := child{kind: KindService, name: naming.NodeWorkload(d.Node.Name), build: func() (runtime.ApplyConfiguration, error) {
		return desired.NodeService(d.Node), nil
	}}
	if live := d.Objects.Service; live != nil {
		c.live, c.isOurs = live, d.isOurs(live)
	}
	d.keep(c)
}

// stepConfigMap keeps the ConfigMap of a node that has none of its Valkey. It disrupts nothing: the agent reads it when the server starts.
func stepConfigMap(d *draft) {
	if d.Node.Spec.ServerConfigMapName != "" {
		return
	}
	c := child{kind: KindConfigMap, name: naming.NodeConfigMap(d.Node.Name), build: func() (runtime.ApplyConfiguration, error) {
		return desired.NodeConfigMap(d.Node, d.Environment.DNS)
	}}
	if live := d.Objects.ConfigMap; live != nil {
		c.live, c.isOurs = live, d.isOurs(live)
	}
	d.keep(c)
}

func (d *draft) isOurs(child metav1.Object) bool { return desired.IsOwnedBy(child, d.Node) }
