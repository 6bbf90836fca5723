// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Tier says what an action may disturb.
type Tier int

// The tiers, in the order in which a plan lists its actions.
const (
	// TierSafe is applied to the API and can be repeated.
	TierSafe Tier = iota
	// TierOnline changes what a Sentinel watches; nobody loses anything by it.
	TierOnline
	// TierDisruptive takes a Sentinel, or what it knows, away for a while. A plan has at most one.
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
	KindSecret      Kind = "Secret"
	KindService     Kind = "Service"
	KindStatefulSet Kind = "StatefulSet"
	KindBudget      Kind = "PodDisruptionBudget"
	KindRole        Kind = "Role"
	KindRoleBinding Kind = "RoleBinding"
	KindPod         Kind = "Pod"
	// KindNetworkPolicy and KindCertificate are made on request only.
	KindNetworkPolicy Kind = "NetworkPolicy"
	KindCertificate   Kind = "Certificate"
)

// Apply makes a child as Config says.
type Apply struct {
	Kind   Kind
	Name   string
	Config runtime.ApplyConfiguration
	// Secondary: the set works without it, so its failure must not stop what comes after.
	Secondary bool
}

// Delete removes a child, if it still is the one that was looked at.
type Delete struct {
	Kind Kind
	Name string
	UID  types.UID
}

// GeneratePasswords draws a password for each user that has none. Existing passwords are never touched: Version is that of the Secret
// that was looked at, empty when there was none, and the write fails if there is another by now.
type GeneratePasswords struct {
	Name    string
	Users   []string
	Version string
}

// Register starts to monitor, at the real primary.
type Register struct {
	Sentinel int
	Run      string
	Monitor  string
	Primary  topology.Address
	Quorum   int
	// Replaced is the wrong address that the monitor had until just now; zero for a new one.
	Replaced topology.Address
}

// SetCredentials says how the Sentinel logs in to the nodes of a monitor.
type SetCredentials struct {
	Sentinel int
	Run      string
	Monitor  string
	User     string
	Password Secret
	// Hash of both, for the memory.
	Hash string
}

// SetSetting changes one setting of a monitor. Each is sent alone, so that one that is refused does not hide the others.
type SetSetting struct {
	Sentinel   int
	Run        string
	Monitor    string
	Key, Value string
	// Hidden: the Sentinel does not show it, so that it was set is remembered.
	Hidden bool
}

// Remove stops to monitor.
type Remove struct {
	Sentinel int
	Run      string
	Monitor  string
	// Why is for people.
	Why string
	// Replacing: a Register at the right address follows.
	Replacing bool
}

// Reset makes one Sentinel forget the replicas and Sentinels of monitors; it finds the living ones again.
type Reset struct {
	Sentinel int
	Monitors []string
	// Why is for people: who is to be forgotten.
	Why string
}

// ReplacePod deletes an outdated pod, which its StatefulSet makes again as it should be.
type ReplacePod struct {
	Sentinel int
	Name     string
	UID      types.UID
	// Broken: the Sentinel in it does nothing anyway, so that nothing has to be asked of the others.
	Broken bool
}

// Scale changes how many Sentinels there are, by applying the workload with another count.
type Scale struct {
	Apply
	From, To int
}

func (Apply) sealed()             {}
func (Delete) sealed()            {}
func (GeneratePasswords) sealed() {}
func (Register) sealed()          {}
func (SetCredentials) sealed()    {}
func (SetSetting) sealed()        {}
func (Remove) sealed()            {}
func (Reset) sealed()             {}
func (ReplacePod) sealed()        {}
func (Scale) sealed()             {}

// Tier of the action.
func (Apply) Tier() Tier             { return TierSafe }
func (Delete) Tier() Tier            { return TierSafe }
func (GeneratePasswords) Tier() Tier { return TierSafe }
func (Register) Tier() Tier          { return TierOnline }
func (SetCredentials) Tier() Tier    { return TierOnline }
func (SetSetting) Tier() Tier        { return TierOnline }
func (Remove) Tier() Tier            { return TierOnline }
func (Reset) Tier() Tier             { return TierDisruptive }
func (ReplacePod) Tier() Tier        { return TierDisruptive }

// Tier of a Scale: a Sentinel less is disruptive, one more is not.
func (a Scale) Tier() Tier {
	if a.To < a.From {
		return TierDisruptive
	}
	return TierSafe
}

func (a Apply) String() string  { return fmt.Sprintf("apply %s %s", a.Kind, a.Name) }
func (a Delete) String() string { return fmt.Sprintf("delete %s %s", a.Kind, a.Name) }
func (a GeneratePasswords) String() string {
	return fmt.Sprintf("generate passwords in Secret %s for %s", a.Name, strings.Join(a.Users, ", "))
}
func (a Register) String() string {
	return fmt.Sprintf("sentinel %d: monitor %s at %s, quorum %d", a.Sentinel, a.Monitor, a.Primary, a.Quorum)
}
func (a SetCredentials) String() string {
	return fmt.Sprintf("sentinel %d: set %s credentials of %s", a.Sentinel, a.Monitor, a.User)
}
func (a SetSetting) String() string {
	return fmt.Sprintf("sentinel %d: set %s %s %s", a.Sentinel, a.Monitor, a.Key, a.Value)
}
func (a Remove) String() string {
	return fmt.Sprintf("sentinel %d: remove %s (%s)", a.Sentinel, a.Monitor, a.Why)
}
func (a Reset) String() string {
	return fmt.Sprintf("sentinel %d: reset %s (%s)", a.Sentinel, strings.Join(a.Monitors, ", "), a.Why)
}
func (a ReplacePod) String() string { return "replace pod " + a.Name }
func (a Scale) String() string      { return fmt.Sprintf("scale %s from %d to %d", a.Name, a.From, a.To) }

// SentinelOf is the index of the Sentinel that the action is sent to, and false for one that goes to the API.
func SentinelOf(action Action) (int, bool) {
	switch a := action.(type) {
	case Register:
		return a.Sentinel, true
	case SetCredentials:
		return a.Sentinel, true
	case SetSetting:
		return a.Sentinel, true
	case Remove:
		return a.Sentinel, true
	case Reset:
		return a.Sentinel, true
	default:
		return 0, false
	}
}
