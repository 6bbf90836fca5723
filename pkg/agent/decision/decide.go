// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what to do now.
type Action string

// The actions. After Wait the node looks again.
const (
	Wait         Action = "Wait"
	StartPrimary Action = "StartPrimary"
	StartReplica Action = "StartReplica"
)

// Ask is what to ask of others while waiting.
type Ask string

// The requests. AskFailover goes to the Sentinels, who still name this node. AskPromotion goes to the server of Target itself,
// which must be a replica of this node then.
const (
	AskNothing   Ask = ""
	AskFailover  Ask = "Failover"
	AskPromotion Ask = "Promotion"
)

// Code names the rule that decided.
type Code string

// The codes.
const (
	CodeAlone          Code = "Alone"
	CodeSentinels      Code = "AwaitSentinels"
	CodeBootstrap      Code = "Bootstrap"
	CodeNewest         Code = "NewestData"
	CodeNamed          Code = "Named"
	CodeMembers        Code = "AwaitMembers"
	CodeBlind          Code = "AwaitNameResolution"
	CodePending        Code = "AwaitFailover"
	CodeEmpty          Code = "EmptyAmongData"
	CodeOlder          Code = "OlderThanPeer"
	CodeServesOlder    Code = "ServesOlderData"
	CodeFollow         Code = "Follow"
	CodeAwaitPrimary   Code = "AwaitPrimary"
	CodePrimaryIsEmpty Code = "PrimaryIsEmpty"
	CodeCircle         Code = "PrimaryFollowsUs"
)

// Outcome is a decision.
type Outcome struct {
	Action Action
	// Primary is whom to follow, with StartReplica.
	Primary string
	Ask     Ask
	// Target is the peer with the best copy, with Ask. For AskFailover it may be empty: whoever the Sentinels choose.
	Target string
	// Unpromotable, with StartReplica: the node is empty in a set that has data, and must not be promoted before it has its first
	// copy. The Sentinels would promote it if it is all they see while a primary with data is only slow to start.
	Unpromotable bool
	Code         Code
	// Reason is for people.
	Reason string
}

// StandsBack tells whether the outcome leaves the primary's place to a peer. Peers need not wait for this node then.
func (o Outcome) StandsBack() bool { return o.Code == CodeEmpty || o.Code == CodeOlder }

// NeedsNotice tells whether the outcome must be published, and come out again, before it is carried out: two nodes that
// decide in the same moment could both become the primary otherwise. In a new set only one node can.
func (o Outcome) NeedsNotice() bool {
	return o.Action == StartPrimary && o.Code != CodeAlone && o.Code != CodeBootstrap
}

// Decide says what the node does, seeing what it sees. It is total: there is an outcome for every input.
func Decide(in Input) Outcome {
	outcome := in.decide()
	outcome.Unpromotable = outcome.Action == StartReplica && in.Mode == ModeSentinel && !in.Self.HasData && !in.isNew()
	return outcome
}

func (in Input) decide() Outcome {
	if len(in.Peers) == 0 {
		return Outcome{Action: StartPrimary, Code: CodeAlone, Reason: "there is no other member"}
	}
	if in.awaitsSentinels() {
		return wait(CodeSentinels, "too few of the %d Sentinels answer yet", len(in.Sentinels))
	}
	switch n := in.consensus(); n.name {
	case "":
		return in.unnamed()
	case in.Self.Name:
		return in.asPrimary(n)
	default:
		return in.asReplica(n)
	}
}

func wait(code Code, format string, args ...any) Outcome {
	return Outcome{Action: Wait, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// awaitsSentinels: they are the authority, and may only be starting. A primary that is there already, and the first start of
// a new set, need no word of theirs.
func (in Input) awaitsSentinels() bool {
	if in.Mode != ModeSentinel || len(in.Sentinels) == 0 || in.Elapsed >= in.Limits.Sentinels || in.isNew() {
		return false
	}
	answered := 0
	for _, s := range in.Sentinels {
		if s.Answered {
			answered++
		}
	}
	return 2*answered <= len(in.Sentinels) && !in.anyPeer(func(p Peer) bool { return p.running() && p.isPrimary() })
}

// unnamed decides where there is neither authority nor record: in a new set, and in one whose volumes were found again.
func (in Input) unnamed() Outcome {
	candidates := in.withData()
	best, some := newest(candidates)
	switch {
	case !some && in.Self.Index == 0 && in.mayFindVolumes():
		return wait(CodeBootstrap, "first start of a new set: %s may have found a volume with data", names(in.unseen()))
	case !some && in.Self.Index == 0:
		return Outcome{Action: StartPrimary, Code: CodeBootstrap, Reason: "first start of a new set: member 0 is the primary"}
	case !some && in.Elapsed < in.Limits.Bootstrap:
		return wait(CodeBootstrap, "first start of a new set: waiting for member 0 to become the primary")
	case !some:
		return Outcome{
			Action: StartReplica, Primary: in.first(), Code: CodeBootstrap,
			Reason: "first start of a new set: member 0 will be the primary",
		}
	case len(in.unseen()) > 0 && in.Elapsed < in.Limits.Cold:
		return wait(CodeMembers, "nobody knows who was the primary, and %s may have newer data", names(in.unseen()))
	case best.name == in.Self.Name:
		return Outcome{Action: StartPrimary, Code: CodeNewest, Reason: "nobody knows who was the primary, and this node's data is the newest"}
	case in.Elapsed < in.Limits.Authority:
		return wait(CodeNewest, "nobody knows who was the primary; %s has the newest data and will be", best.name)
	}
	return Outcome{
		Action: StartReplica, Primary: best.name, Code: CodeNewest,
		Reason: fmt.Sprintf("nobody knows who was the primary; %s has the newest data", best.name),
	}
}

// mayFindVolumes: members of a new set that have not shown themselves may have found volumes of an earlier set.
func (in Input) mayFindVolumes() bool {
	return in.Persistent && len(in.unseen()) > 0 && in.Elapsed < in.Limits.Missing
}

// withData is every visible member that holds data.
func (in Input) withData() []candidate {
	var candidates []candidate
	if in.Self.HasData {
		candidates = append(candidates, in.Self.candidate())
	}
	for _, p := range in.Peers {
		if p.visible() && p.hasData() {
			candidates = append(candidates, p.candidate())
		}
	}
	return candidates
}

// first is the member with the lowest index.
func (in Input) first() string {
	first := in.Peers[0]
	for _, p := range in.Peers {
		if p.Index < first.Index {
			first = p
		}
	}
	return first.Name
}

func names(peers []Peer) string {
	list := make([]string, 0, len(peers))
	for _, p := range peers {
		list = append(list, p.Name)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
