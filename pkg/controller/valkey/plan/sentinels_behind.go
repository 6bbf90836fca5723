// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// behindAfter is how long Sentinels have to hear of a promotion. They tell each other within two seconds; half a minute after one that they have
// not heard of they fail over once more.
const behindAfter = 8 * time.Second

// tellSentinels asks the Sentinels to make the node primary that already is: they name one that follows it, because the Sentinel that led the
// change ended before it told the others. Left alone they would promote whom they like, and what the primary was told meanwhile could be lost.
func (p *pass) tellSentinels() (decision, bool) {
	monitor := monitorName(p.o)
	named, primary := p.behind()
	if _, inFlight := p.o.Snapshot.FailoverInFlight(monitor); primary == "" || inFlight || p.o.Now.Sub(p.plan.Memory.BehindSince) < behindAfter {
		return decision{}, false
	}
	why := fmt.Sprintf("the Sentinels still name %s, which follows %s", named, primary)
	return do(Promote{From: named, To: primary, Monitor: monitor, Why: why}), true
}

// behind is whom the Sentinels name, and the only node that says it is primary, which that one follows; empty where it is not so.
func (p *pass) behind() (named, primary string) {
	if p.verdict.Behind != "" {
		return p.verdict.Behind, p.verdict.Node
	}
	if !p.verdict.BySentinels || len(p.verdict.Rivals) != 1 {
		return "", ""
	}
	from, _ := p.o.Snapshot.Member(p.verdict.Node)
	to, _ := p.o.Snapshot.Member(p.verdict.Rivals[0])
	if !from.Reach.OK() || from.Role != topology.RoleReplica || !follows(from, to) {
		return "", ""
	}
	return from.Name, to.Name
}
