// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
)

// object is a live object of the API.
type object interface {
	comparable
	metav1.Object
	runtime.Object
}

// child makes one child as wanted, unless it is so already. One that belongs to somebody else is left alone.
func child[T object](p *pass, live T, want Apply) decision {
	var none T
	if live == none {
		want.Creates = true
		return decision{actions: []Action{want}}
	}
	if !desired.IsOwnedBy(live, p.o.Valkey) {
		return foreign(want.Kind, want.Name)
	}
	// An object that cannot be compared is applied once more: that changes nothing if it is right.
	if same, err := p.isApplied(live, want.Config); err == nil && same {
		return decision{}
	}
	return decision{actions: []Action{want}}
}

func foreign(kind Kind, name string) decision {
	return blocked(v1alpha1.ReasonForeignObject, string(kind)+" "+name+" exists and belongs to somebody else; it is left alone")
}

func blocked(reason, message string) decision {
	return decision{blocked: []Blocked{{Reason: reason, Message: message}}}
}

func do(action Action) decision { return decision{actions: []Action{action}} }

// and joins two decisions.
func (d decision) and(other decision) decision {
	d.actions = append(d.actions, other.actions...)
	d.blocked = append(d.blocked, other.blocked...)
	d.warnings = append(d.warnings, other.warnings...)
	d.stop = d.stop || other.stop
	return d
}
