// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import "fmt"

// asPrimary decides for the node that is held for the primary. It becomes that only if no visible peer has data that it
// lacks: its replicas would throw that data away and copy its own.
func (in Input) asPrimary(n named) Outcome {
	if ahead := in.ahead(); len(ahead) > 0 {
		return in.standBack(n, ahead)
	}
	if in.failoverPending() && in.Elapsed < in.Limits.Pending {
		return wait(CodePending, "the Sentinels hold this node for down, or a failover is in flight: to start now could make two primaries")
	}
	if outcome, waits := in.awaitMembers(n); waits {
		return outcome
	}
	return Outcome{
		Action: StartPrimary, Code: CodeNamed,
		Reason: fmt.Sprintf("this node is the primary (%s), and no visible member has data that it lacks", n.source),
	}
}

// failoverPending: the Sentinels are about to replace this node, or doing it, and there is a peer for them to choose.
func (in Input) failoverPending() bool {
	pending := false
	for _, s := range in.Sentinels {
		pending = pending || s.Answered && s.Says == in.Self.Name && s.Pending
	}
	return pending && in.Mode == ModeSentinel && in.anyPeer(func(p Peer) bool { return p.running() && p.hasData() })
}

// ahead are the visible peers with data that this node lacks.
func (in Input) ahead() []Peer {
	var ahead []Peer
	for _, p := range in.Peers {
		if !p.visible() || !p.hasData() {
			continue
		}
		if !in.Self.HasData || p.position().Compare(in.Self.Position) == Ahead {
			ahead = append(ahead, p)
		}
	}
	return ahead
}

// standBack leaves the primary's place to the best of the peers that are ahead. The authority promotes one: the Sentinels and
// the controller by themselves. Without either it is this node that asks a peer.
func (in Input) standBack(n named, ahead []Peer) Outcome {
	if in.Self.HasData && in.Elapsed >= in.Limits.Authority {
		return Outcome{
			Action: StartPrimary, Code: CodeServesOlder,
			Reason: fmt.Sprintf("%s has newer data, but nobody promoted a peer in %s", names(ahead), in.Limits.Authority),
		}
	}
	// Peers start when this node stands back, and then one of them is promoted. In a cold start that must not happen before
	// all are there to compare.
	if unseen := in.unseen(); len(unseen) > 0 && !in.anyPeer(Peer.running) && in.Elapsed < in.Limits.Cold {
		return wait(CodeMembers, "%s has data that this node lacks, and %s may have newer data", names(ahead), names(unseen))
	}
	outcome := wait(CodeEmpty, "this node would be the primary, but it is empty and %s holds data", names(ahead))
	if in.Self.HasData {
		outcome = wait(CodeOlder, "this node would be the primary, but %s has newer data", names(ahead))
	}
	best := in.toPromote(ahead)
	switch {
	case best == "":
	case in.Mode == ModeSentinel && !in.unmonitored():
		if in.sentinelsMayAct() {
			outcome.Ask, outcome.Target = AskFailover, best
		}
	case in.Mode == ModeOperator:
	case in.mayAskPeers(n):
		outcome.Ask, outcome.Target = AskPromotion, best
	}
	return outcome
}

// mayAskPeers: this node is the recorded primary, and every other member was asked for its state. Two nodes never may at one
// time: the hint names one, and where the running replicas refute it, all that see them follow their word. Besides, only a
// replica of the node that asks is ever promoted. Peers that are about to start are waited for: they will be told, too, whom
// to follow.
func (in Input) mayAskPeers(n named) bool {
	recorded := in.Hint == in.Self.Name || in.Hint == "" && in.Self.wasPrimary() || n.source == SourceReplicas
	missing := len(in.unseen()) > 0 && in.Elapsed < in.Limits.Missing
	starting := in.anyPeer(func(p Peer) bool { return p.visible() && !p.running() }) && in.Elapsed < in.Limits.Cold
	return recorded && !missing && !starting
}

// unmonitored: there are no Sentinels, or most of them answer and none monitors the set. Nobody else will promote a peer then.
func (in Input) unmonitored() bool {
	answered := 0
	for _, s := range in.Sentinels {
		if s.Says != "" {
			return false
		}
		if s.Answered {
			answered++
		}
	}
	return len(in.Sentinels) == 0 || 2*answered > len(in.Sentinels)
}

// sentinelsMayAct: one of them names this node, or a member that is not the primary by its own word.
func (in Input) sentinelsMayAct() bool {
	for _, s := range in.Sentinels {
		if s.Answered && (s.Says == in.Self.Name || in.refutesItself(s.Says)) {
			return true
		}
	}
	return false
}

// toPromote is the peer to promote: the best copy among those that are up. Empty while a better one is about to start.
func (in Input) toPromote(ahead []Peer) string {
	var running, all []candidate
	for _, p := range ahead {
		all = append(all, p.candidate())
		if p.running() && !p.Server.Loading {
			running = append(running, p.candidate())
		}
	}
	best, _ := newest(running)
	if overall, _ := newest(all); overall.name != best.name && in.Elapsed < in.Limits.Authority {
		return ""
	}
	return best.name
}

// awaitMembers: members that do not answer may have data that this node lacks.
func (in Input) awaitMembers(n named) (Outcome, bool) {
	unseen := in.unseen()
	switch {
	case len(unseen) == 0:
		return Outcome{}, false
	case in.Self.HasData:
		return in.awaitNewerData(n, unseen)
	}
	return in.awaitAnyData(unseen)
}

// awaitNewerData is for a node with data.
func (in Input) awaitNewerData(n named, unseen []Peer) (Outcome, bool) {
	limit, alive := in.Limits.Cold, in.anyPeer(Peer.running)
	if alive {
		limit = in.Limits.Missing
	}
	// It had everything as primary, it still has, and somebody alive confirms that nobody came after it.
	confirmed := alive || n.source == SourceSentinels
	if in.Elapsed >= limit || confirmed && in.Self.Complete && in.Self.wasPrimary() {
		return Outcome{}, false
	}
	return wait(CodeMembers, "%s may have data that this node lacks", names(unseen)), true
}

// awaitAnyData is for an empty node.
func (in Input) awaitAnyData(unseen []Peer) (Outcome, bool) {
	if in.isNew() && in.mayFindVolumes() {
		return wait(CodeBootstrap, "first start of a new set: %s may have found a volume with data", names(unseen)), true
	}
	if in.isNew() || in.Self.wasPrimary() && in.Self.Record.Keys == 0 {
		return Outcome{}, false
	}
	unseen = in.mayHoldData(unseen)
	for _, p := range unseen {
		if p.Sight == Blind {
			// Without bound: when names resolve again, whoever follows this node would copy its emptiness.
			return wait(CodeBlind, "this node is empty, and names do not resolve: nothing is known of %s", names(unseen)), true
		}
	}
	if len(unseen) > 0 && in.Elapsed < in.Limits.Empty {
		return wait(CodeMembers, "this node is empty, and %s may hold data", names(unseen)), true
	}
	return Outcome{}, false
}

// mayHoldData leaves out pods that do not exist, where the data would have been in the pod.
func (in Input) mayHoldData(unseen []Peer) []Peer {
	var may []Peer
	for _, p := range unseen {
		if in.Persistent || p.Sight != Absent {
			may = append(may, p)
		}
	}
	return may
}
