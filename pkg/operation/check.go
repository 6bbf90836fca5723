// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// CheckFailover decides from a fresh look whether the request may be carried out now, and who takes over from whom. It is pure.
//
// Always: no failover in flight, a target that answers, and never an empty one while a peer that answers holds data.
// Coordinated: one undisputed primary that answers, and a target that is a synced replica of it; under Sentinels, all that answer
// agree, and they are a majority. Forced: the primary may be gone; under Sentinels, at least one answers.
func CheckFailover(snapshot topology.Snapshot, request Request) Decision {
	primary := snapshot.Primary(request.Monitor)
	decision := Decision{From: cmp.Or(primary.Name, primary.Presumed), To: request.To}
	if by, inFlight := snapshot.FailoverInFlight(request.Monitor); inFlight {
		decision.refuse(ReasonInFlight, true, "the primary is being changed already, says %s", by)
	}
	if request.Monitor != "" {
		decision.checkSentinels(snapshot, request)
	}
	if request.Mode == Forced {
		decision.chooseForced(snapshot, request)
	} else {
		decision.chooseCoordinated(snapshot, primary, request)
	}
	return decision
}

func (d *Decision) refuse(reason Reason, temporary bool, format string, args ...any) {
	d.Causes = append(d.Causes, Cause{Reason: reason, Text: fmt.Sprintf(format, args...), Temporary: temporary})
}

func (d *Decision) checkSentinels(snapshot topology.Snapshot, request Request) {
	verdict := snapshot.SentinelPrimary(request.Monitor)
	switch {
	case verdict.Address.IsZero():
		d.refuse(ReasonNoSentinel, true, "no Sentinel that answers monitors %q", request.Monitor)
	case request.Mode != Forced && !verdict.Majority():
		d.refuse(ReasonNoQuorum, true, "only %d of %d Sentinels name %s as the primary", verdict.Votes, verdict.Total, verdict.Address)
	}
}

func (d *Decision) chooseCoordinated(snapshot topology.Snapshot, primary topology.Primary, request Request) {
	for _, dispute := range primary.Disputes {
		d.refuse(ReasonDisputed, true, "%s", dispute.Text)
	}
	if primary.Name == "" {
		text := "no member is known to be primary"
		if primary.Presumed != "" {
			text = primary.Presumed + ", the primary, does not answer"
		}
		d.refuse(ReasonNoPrimary, true, "%s", text)
		return
	}
	if request.To != "" {
		d.checkTarget(snapshot, request.To)
		return
	}
	var fit []topology.Member
	var misfits []string
	for _, m := range snapshot.Members {
		if m.Name == d.From {
			continue
		}
		if refusal, text := snapshot.CanFailover(d.From, m.Name); refusal == "" {
			fit = append(fit, m)
		} else {
			misfits = append(misfits, text)
		}
	}
	if len(fit) == 0 {
		d.refuse(ReasonNoTarget, true, "no replica can take over from %s%s", d.From, becauseOf(misfits))
		return
	}
	// Whom Sentinel would choose by itself, as far as it can be told from here.
	d.To = slices.MinFunc(fit, func(a, b topology.Member) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Offset, a.Offset), cmp.Compare(a.RunID, b.RunID))
	}).Name
}

func becauseOf(texts []string) string {
	if len(texts) == 0 {
		return ": there is none"
	}
	return ": " + strings.Join(texts, "; ")
}

func (d *Decision) checkTarget(snapshot topology.Snapshot, to string) {
	switch refusal, text := snapshot.CanFailover(d.From, to); refusal {
	case "":
	case topology.RefusedUnknown:
		d.refuse(ReasonUnknownTarget, false, "%s", text)
	case topology.RefusedIsPrimary:
		d.refuse(ReasonIsPrimary, false, "%s", text)
	case topology.RefusedEmpty:
		d.refuse(ReasonDataLoss, true, "%s", text)
	case topology.RefusedPriority:
		d.refuse(ReasonTarget, false, "%s", text)
	default:
		d.refuse(ReasonTarget, true, "%s", text)
	}
}

func (d *Decision) chooseForced(snapshot topology.Snapshot, request Request) {
	if named := behind(snapshot, request); named != "" {
		d.From = named
	}
	best, found := snapshot.BestReplica(d.From)
	if request.To == "" {
		if !found {
			d.refuse(ReasonNoTarget, true, "no member that answers could be promoted")
			return
		}
		d.To, d.Losing = best.Member.Name, snapshot.Losing(best.Member.Name)
		return
	}
	m, known := snapshot.Member(request.To)
	switch {
	case !known:
		d.refuse(ReasonUnknownTarget, false, "%q is no member", request.To)
	case request.To == d.From:
		d.refuse(ReasonIsPrimary, false, "%s is the primary already", request.To)
	case !m.Reach.OK() || m.Loading:
		d.refuse(ReasonTarget, true, "%s does not answer or is loading its dataset", request.To)
	case m.Syncing:
		d.refuse(ReasonTarget, true, "%s is receiving a copy and holds nothing complete", request.To)
	case m.Priority == 0:
		d.refuse(ReasonTarget, false, "%s has replica-priority 0 and is never promoted", request.To)
	case !m.HasData() && slices.ContainsFunc(snapshot.Members, topology.Member.HasData):
		d.refuse(ReasonDataLoss, true, "%s is empty while others hold data", request.To)
	}
	d.Losing = snapshot.Losing(request.To)
}
