// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

const (
	// stuckAfter is how long Sentinels that agree on the loss of the primary have to elect one among them and to promote a replica. An election
	// takes ten seconds at most, and what follows a few; the flags tell while either goes on.
	stuckAfter = 20 * time.Second
	// usualDownAfter is Sentinel's own, for one that does not show its setting.
	usualDownAfter = 30 * time.Second
)

// askSentinels asks for the failover that most of the Sentinels hold for needed and that none of them carries out: because each gave its
// vote to itself, until they try again after twice the failover-timeout, or because all were started, or thawed, so late that they hold no replica
// for good, for ever. The controller names no primary to them but the replica that lacks the least, and decides nothing that they have not.
func (p *pass) askSentinels() decision {
	monitor := monitorName(p.o)
	leader, _ := p.o.Snapshot.Member(p.verdict.Node)
	if monitor == "" || !p.verdict.BySentinels || p.verdict.InFlight || !isGone(leader) {
		return decision{}
	}
	down, downAfter := 0, time.Duration(0)
	for _, sentinel := range p.o.Snapshot.Sentinels {
		view, holds := sentinel.Monitors[monitor]
		if !sentinel.Reach.OK() || !holds || !leader.Is(view.Primary) {
			continue
		}
		downAfter = max(downAfter, downAfterOf(view.Settings))
		if view.SubjectDown || view.ObjectDown {
			down++
		}
	}
	all := len(p.o.Snapshot.Sentinels)
	if down <= all/2 || p.o.Now.Sub(p.plan.Memory.AwaySince) < downAfter+stuckAfter {
		return decision{}
	}
	why := fmt.Sprintf("%d of %d Sentinels say that %s is down, and none fails over", down, all, leader.Name)
	to, found := p.successor()
	if !found {
		return blocked(v1alpha1.ReasonNoCandidate, why+": no node that answers holds a complete copy")
	}
	return do(Promote{From: leader.Name, To: to.Member.Name, Monitor: monitor, Why: why + "; " + to.Text})
}

func downAfterOf(settings map[string]string) time.Duration {
	milliseconds, err := strconv.Atoi(settings["down-after-milliseconds"])
	if err != nil {
		return usualDownAfter
	}
	return time.Duration(milliseconds) * time.Millisecond
}
