// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Tier says what an action may disturb.
type Tier int

// The tiers.
const (
	// TierSafe is applied to the API and can be repeated.
	TierSafe Tier = iota
	// TierOnline tells a server whom to follow, or cuts off its clients.
	TierOnline
	// TierDisruptive takes a member away for a while or changes the primary. A plan has at most one.
	TierDisruptive
)

// Action is one thing to do: plain data, carried out by the controller, which decides nothing more. String never shows a secret.
type Action interface {
	String() string
	Tier() Tier
	sealed()
}

// Kind names a kind of child.
type Kind string

// The kinds of children.
const (
	KindSecret        Kind = "Secret"
	KindConfigMap     Kind = "ConfigMap"
	KindService       Kind = "Service"
	KindEndpointSlice Kind = "EndpointSlice"
	KindBudget        Kind = "PodDisruptionBudget"
	KindRole          Kind = "Role"
	KindRoleBinding   Kind = "RoleBinding"
	KindNode          Kind = "ValkeyNode"
	KindPod           Kind = "Pod"
	KindNetworkPolicy Kind = "NetworkPolicy"
	KindCertificate   Kind = "Certificate"
)

// Apply makes a child as Config says.
type Apply struct {
	Kind   Kind
	Name   string
	Config runtime.ApplyConfiguration
	// Secondary: the instance works without it, so that its failure must not stop what comes after.
	Secondary bool
	// Creates: there is none yet.
	Creates bool
}

// Delete removes a child that is no longer wanted, if it still is the one that was looked at.
type Delete struct {
	Kind Kind
	Name string
	UID  types.UID
}

// WritePasswords draws a password for each user in Draw, takes over those in Keep, and writes both into the Secret. Existing passwords
// are never touched: Version is that of the Secret that was looked at, empty when there was none, and the write fails if there is another by now.
type WritePasswords struct {
	Name    string
	Draw    []string
	Keep    map[string]Secret
	Version string
	// Drop: the password of the agents on the Sentinels is no longer needed.
	Drop bool
	// Recovers: the Secret was lost while servers use the passwords.
	Recovers bool
}

// Follow makes a node follow the primary.
type Follow struct {
	Node    string
	Primary string
	// Address of the primary, as its replicas are told.
	Address topology.Address
	// Why is for people.
	Why string
}

// CutOff ends the connections of a replica's clients.
type CutOff struct{ Node string }

// Promote makes a replica the primary because the old one is lost.
type Promote struct {
	From, To string
	// Monitor is the name under which the Sentinels, who are to promote it, know the Valkey. Empty: no Sentinel is to be asked.
	Monitor string
	Why     string
}

// Cause is who decided it.
func (a Promote) Cause() v1alpha1.FailoverCause {
	if a.Monitor != "" {
		return v1alpha1.FailoverCauseSentinel
	}
	return v1alpha1.FailoverCauseOperator
}

// HandOver moves the primary in a planned way: nothing acknowledged is lost, or nothing is done.
type HandOver struct {
	From, To string
	// Monitor is the name under which the Sentinels know the Valkey. Empty: no Sentinel is to be asked.
	Monitor string
	Cause   v1alpha1.FailoverCause
	Why     string
}

// RemoveNode deletes a node that is no longer wanted.
type RemoveNode struct {
	Node string
	UID  types.UID
}

// Replace authorises a node to replace its pod: Config is the node with the revision it asked for.
type Replace struct {
	Node     string
	Revision string
	Config   runtime.ApplyConfiguration
	// Pod in which no server runs, which is why the node may be replaced at any time: to be made sure of. Empty: it does not matter.
	IdlePod string
}

func (Apply) sealed()          {}
func (Delete) sealed()         {}
func (WritePasswords) sealed() {}
func (Follow) sealed()         {}
func (CutOff) sealed()         {}
func (Promote) sealed()        {}
func (HandOver) sealed()       {}
func (RemoveNode) sealed()     {}
func (Replace) sealed()        {}

// Tier of the action.
func (Apply) Tier() Tier          { return TierSafe }
func (Delete) Tier() Tier         { return TierSafe }
func (WritePasswords) Tier() Tier { return TierSafe }
func (Follow) Tier() Tier         { return TierOnline }
func (CutOff) Tier() Tier         { return TierOnline }
func (Promote) Tier() Tier        { return TierDisruptive }
func (HandOver) Tier() Tier       { return TierDisruptive }
func (RemoveNode) Tier() Tier     { return TierDisruptive }
func (Replace) Tier() Tier        { return TierDisruptive }

func (a Apply) String() string  { return fmt.Sprintf("apply %s %s", a.Kind, a.Name) }
func (a Delete) String() string { return fmt.Sprintf("delete %s %s", a.Kind, a.Name) }
func (a WritePasswords) String() string {
	kept := make([]string, 0, len(a.Keep))
	for user := range a.Keep {
		kept = append(kept, user)
	}
	slices.Sort(kept)
	return fmt.Sprintf("write passwords to Secret %s (draw: %s; keep: %s)", a.Name, strings.Join(a.Draw, " "), strings.Join(kept, " "))
}
func (a Follow) String() string {
	return fmt.Sprintf("make %s follow %s: %s", a.Node, a.Primary, a.Why)
}
func (a CutOff) String() string { return "cut off the clients of " + a.Node }
func (a Promote) String() string {
	if a.Monitor != "" {
		return fmt.Sprintf("ask the Sentinels to promote %s in place of %s: %s", a.To, a.From, a.Why)
	}
	return fmt.Sprintf("promote %s in place of %s: %s", a.To, a.From, a.Why)
}
func (a HandOver) String() string {
	return fmt.Sprintf("hand over from %s to %s: %s", a.From, a.To, a.Why)
}
func (a RemoveNode) String() string { return "remove node " + a.Node }
func (a Replace) String() string    { return fmt.Sprintf("replace pod of %s (%s)", a.Node, a.Revision) }
