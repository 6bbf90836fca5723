// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import "fmt"

// asReplica decides for a node that knows of another primary.
//
// While nobody runs, a replica that is up would be there for the Sentinels or the controller to promote, and its data may be
// older than that of a primary which only takes longer to start: so it lets the primary go first, for a time. A primary that
// stands back is not waited for; that is how its peers become eligible.
func (in Input) asReplica(n named) Outcome {
	p, known := in.peer(n.name)
	follow := Outcome{
		Action: StartReplica, Primary: n.name, Code: CodeFollow, Reason: fmt.Sprintf("%s is the primary (%s)", n.name, n.source),
	}
	switch {
	case !known:
		return follow
	case p.isPrimary() && in.isEmptyStranger(p):
		return wait(CodePrimaryIsEmpty, "the primary %s is empty, and never had this node's data: to follow it would be to lose the data", n.name)
	case p.isPrimary():
		return follow
	case p.running():
		if in.root(p) == in.Self.Name && in.Elapsed < in.Limits.Cold {
			return in.breakCircle(n)
		}
		return follow
	case p.visible() && p.Agent.StandsBack, in.anyPeer(Peer.running) && !p.visible():
		return follow
	case p.visible() && in.Elapsed < in.Limits.Authority, in.Elapsed < in.Limits.Cold:
		return wait(CodeAwaitPrimary, "%s is the primary (%s) and has not started yet", n.name, n.source)
	}
	return follow
}

// breakCircle: the Sentinels are sure of a primary that follows this node itself. To follow it would close a circle, which
// they take half a minute to see. So whoever has the best copy is made the primary: the one that they name, a replica of
// theirs, or this node.
func (in Input) breakCircle(n named) Outcome {
	outcome := wait(CodeCircle, "%s is the primary (%s), but follows this node", n.name, n.source)
	if in.Elapsed < in.Limits.Missing {
		return outcome
	}
	best, some := newest(in.withData())
	named, _ := in.peer(n.name)
	switch p, _ := in.peer(best.name); {
	case best.name == in.Self.Name:
		return Outcome{
			Action: StartPrimary, Code: CodeNewest,
			Reason: fmt.Sprintf("%s is the primary (%s), but follows this node, whose data is the newest", n.name, n.source),
		}
	case (!some || best.name == n.name) && named.Server.Follows == in.Self.Name:
		outcome.Ask, outcome.Target = AskPromotion, n.name
	case some && p.running():
		outcome.Ask, outcome.Target = AskFailover, best.name
	}
	return outcome
}
