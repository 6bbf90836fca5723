// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/topology/view"
)

// Verdict is what one look says about who is primary.
type Verdict struct {
	// Node is the primary as far as anybody may say, empty where nobody does.
	Node string
	// Confirmed: Node itself says that it is primary, everybody who has a say agrees, and nobody holds data that it lacks. Only then may
	// others be made to follow it, or clients be led to it.
	Confirmed bool
	// BySentinels: it is the Sentinels who name Node.
	BySentinels bool
	// InFlight: a failover is in flight.
	InFlight bool
	// Behind is whom the Sentinels still name after a hand-over to Node.
	Behind string
	// Reason and Message say why Node is not confirmed.
	Reason, Message string
	// Rivals are other nodes that say they are primary.
	Rivals []string
	// Endangered are nodes with data that Node, which is empty, lacks.
	Endangered []string
}

// judge says who is primary. In mode Sentinel the Sentinels do, as soon as one of them holds the monitor; else the nodes' own roles and,
// where those leave a choice, the record of earlier looks.
func judge(o *Observed) Verdict {
	monitor := monitorName(o)
	verdict, said := bySentinels(o, monitor)
	if !said {
		verdict = byRoles(o)
	}
	for _, m := range o.Snapshot.Members {
		if isPrimary(m) && m.Name != verdict.Node {
			verdict.Rivals = append(verdict.Rivals, m.Name)
		}
	}
	_, inFlight := o.Snapshot.FailoverInFlight(monitor)
	verdict.InFlight = verdict.InFlight || inFlight
	confirm(o, &verdict)
	return verdict
}

// monitorName is what the Sentinels call the Valkey; empty where none monitors it.
func monitorName(o *Observed) string {
	if o.Valkey.Spec.Failover.Mode != v1alpha1.FailoverModeSentinel || o.Monitoring.Set == nil {
		return ""
	}
	return v1alpha1.EffectiveMonitorName(o.Valkey)
}

// bySentinels is whom the Sentinels name, and false while none holds the monitor.
func bySentinels(o *Observed, monitor string) (Verdict, bool) {
	if monitor == "" {
		return Verdict{}, false
	}
	said := o.Snapshot.SentinelPrimary(monitor)
	switch {
	case said.Address.IsZero():
		return Verdict{}, false
	case said.Member == "":
		return Verdict{
			BySentinels: true,
			Reason:      v1alpha1.ReasonSentinelDiffers,
			Message:     fmt.Sprintf("the Sentinels name %s, which is none of the nodes", said.Address),
		}, true
	}
	if successor, ahead := nodesAreAhead(o, said.Member); ahead {
		return Verdict{BySentinels: true, Node: successor, InFlight: true, Behind: said.Member}, true
	}
	return Verdict{BySentinels: true, Node: said.Member}, true
}

// justNow is how long after it was claimed a hand-over explains that the Sentinels name the old primary.
const justNow = time.Minute

// nodesAreAhead is the end of a hand-over that the Sentinels have not noticed yet: whom they name follows the target, which is the only node
// that says it is primary. Clients are led there; everything else waits until the Sentinels agree.
func nodesAreAhead(o *Observed, named string) (successor string, ahead bool) {
	operation := o.Valkey.Status.Operation
	if operation == nil || operation.From != named || operation.Phase == v1alpha1.OperationFailed || o.Now.Sub(operation.StartedAt.Time) > justNow {
		return "", false
	}
	from, _ := o.Snapshot.Member(operation.From)
	to, _ := o.Snapshot.Member(operation.To)
	if !isPrimary(to) || !from.Reach.OK() || from.Role != topology.RoleReplica || !follows(from, to) {
		return "", false
	}
	others := slices.ContainsFunc(o.Snapshot.Members, func(m topology.Member) bool { return isPrimary(m) && m.Name != to.Name })
	return to.Name, !others
}

// byRoles is whom the nodes' own roles and the record name.
func byRoles(o *Observed) Verdict {
	recorded := recorded(o)
	var primaries []string
	for _, m := range o.Snapshot.Members {
		if isPrimary(m) {
			primaries = append(primaries, m.Name)
		}
	}
	switch {
	case len(primaries) == 0 && recorded == "":
		return Verdict{Reason: v1alpha1.ReasonBootstrapping, Message: "no node has been primary yet"}
	case len(primaries) == 0:
		return Verdict{Node: recorded}
	case len(primaries) == 1 && replacedByLost(o, primaries[0], recorded):
		return Verdict{Node: recorded}
	case len(primaries) == 1:
		return Verdict{Node: primaries[0]}
	}
	if name, ok := onlyOneWithData(o.Snapshot, primaries); ok {
		return Verdict{Node: name}
	}
	for _, name := range primaries {
		if name == recorded {
			return Verdict{Node: recorded}
		}
	}
	return Verdict{
		Reason:  v1alpha1.ReasonSeveralPrimaries,
		Message: strings.Join(primaries, " and ") + " say that they are primary, and none is on record",
	}
}

// replacedByLost tells whether the only node that says it is primary is a former one, back after another was promoted that cannot be seen now:
// it was not promoted from what that one held when it was last seen. Clients led to it, and replicas made to follow it, would lose what came
// after.
func replacedByLost(o *Observed, name, recorded string) bool {
	m, _ := o.Snapshot.Member(name)
	lost, _ := o.Snapshot.Member(recorded)
	history := o.Memory.PrimaryHistory
	if recorded == "" || recorded == name || o.Memory.PrimaryHistoryOf != recorded || history == "" || !isGone(lost) {
		return false
	}
	return m.ReplID != history && m.ReplID2 != history
}

// recorded is the node that was primary when it was last known, and still exists. A hand-over that was begun and not recorded, because
// whoever carried it out is gone, counts once its target says that it is primary.
func recorded(o *Observed) string {
	if operation := o.Valkey.Status.Operation; operation != nil && operation.Phase == v1alpha1.OperationInProgress {
		if to, known := o.Snapshot.Member(operation.To); known && isPrimary(to) {
			return to.Name
		}
	}
	if _, known := o.Snapshot.Member(o.Valkey.Status.Primary); known {
		return o.Valkey.Status.Primary
	}
	if name := hint(o); name != "" {
		if _, known := o.Snapshot.Member(name); known {
			return name
		}
	}
	return ""
}

// hint is the primary that the nodes' boot settings name.
func hint(o *Observed) string {
	if o.Objects.Config == nil {
		return ""
	}
	settings, err := boot.Decode[boot.Node]([]byte(o.Objects.Config.Data[naming.KeyBoot]))
	if err != nil {
		return ""
	}
	return settings.Primary
}

// onlyOneWithData is the one among the named members that holds data, where exactly one does.
func onlyOneWithData(snapshot topology.Snapshot, names []string) (string, bool) {
	var found []string
	for _, name := range names {
		if m, known := snapshot.Member(name); known && m.HasData() {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

// confirm compares what is said of the node with what it says itself.
func confirm(o *Observed, verdict *Verdict) {
	if verdict.Node == "" {
		return
	}
	m, _ := o.Snapshot.Member(verdict.Node)
	switch {
	case m.Reach.Class == topology.ReachLoading || m.Reach.OK() && m.Loading:
		verdict.Reason, verdict.Message = v1alpha1.ReasonLoading, m.Name+" reads its dataset"
	case m.Reach.Class == topology.ReachAuth || m.Reach.Class == topology.ReachPermission:
		verdict.Reason, verdict.Message = v1alpha1.ReasonAuthFailed, m.Name+" refuses the controller"
	case m.Reach.Class == topology.ReachFull:
		verdict.Reason, verdict.Message = v1alpha1.ReasonTooManyClients, topology.FullText(m.Name)
	case !m.Reach.OK():
		verdict.Reason, verdict.Message = v1alpha1.ReasonPrimaryUnreachable, m.Name+" does not answer"
	case m.Role == topology.RoleReplica && verdict.BySentinels:
		verdict.Reason, verdict.Message = v1alpha1.ReasonSentinelDiffers, "the Sentinels name "+m.Name+", which says that it is a replica"
	case m.Role != topology.RolePrimary:
		verdict.Reason, verdict.Message = v1alpha1.ReasonNoPrimary, "no node says that it is primary; the last one was "+m.Name
	default:
		if later := successor(o.Snapshot, m); verdict.BySentinels && later != "" {
			verdict.Reason = v1alpha1.ReasonSeveralPrimaries
			verdict.Message = fmt.Sprintf("the Sentinels name %s, and %s was promoted after it", m.Name, later)
			return
		}
		verdict.Endangered = endangered(o.Snapshot, m)
		if len(verdict.Endangered) > 0 {
			verdict.Reason = v1alpha1.ReasonPrimaryEmpty
			verdict.Message = fmt.Sprintf("%s is empty while %s holds data", m.Name, strings.Join(verdict.Endangered, ", "))
			return
		}
		verdict.Confirmed = true
	}
}

// successor is the member that was promoted from the primary's history and says that it is primary: Sentinels that name the older one have
// not heard of it, or could not resolve its name. Empty where there is none.
func successor(snapshot topology.Snapshot, primary topology.Member) string {
	for _, m := range snapshot.Members {
		if m.Succeeds(primary) {
			return m.Name
		}
	}
	return ""
}

// endangered are the members whose data would be lost if they followed the primary: it is empty, they are not, and it is not the one that
// was emptied on purpose, of whose history theirs is a part.
func endangered(snapshot topology.Snapshot, primary topology.Member) []string {
	if primary.HasData() {
		return nil
	}
	var names []string
	for _, m := range snapshot.Members {
		if m.Name != primary.Name && m.HasData() && !view.Synced(m, primary) && !contains(primary, m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// contains tells whether the history of the first holds all of the second's.
func contains(whole, part topology.Member) bool {
	switch part.ReplID {
	case "":
		return false
	case whole.ReplID:
		return part.Offset <= whole.Offset
	case whole.ReplID2:
		return part.Offset <= whole.SecondOffset
	}
	return false
}
