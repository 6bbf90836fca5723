// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/topology"
)

// NeedsLook tells whether the nodes of a Valkey have to be asked, and not only its Sentinels: when a Sentinel does not hold the monitor as
// it should, when the Sentinels do not say the same, or when something has changed.
func NeedsLook(observed Observed, valkey Valkey) bool {
	size := observed.currentSize()
	agreed := topology.Address{}
	for i := range min(size, len(observed.Sentinels)) {
		sentinel := observed.Sentinels[i]
		if !sentinel.View.Reach.OK() {
			continue
		}
		seen, ok := sentinel.View.Monitors[valkey.Monitor]
		if !ok || !isQuiet(seen) || nodeAt(valkey, seen.Primary) < 0 {
			return true
		}
		if !agreed.IsZero() && agreed != seen.Primary {
			return true
		}
		if seen.NumReplicas != len(valkey.Nodes)-1 || seen.NumOtherSentinels != size-1 {
			return true
		}
		agreed = seen.Primary
	}
	noted, ok := observed.noted(valkey.Monitor)
	return !ok || !agreed.IsZero() && noted != agreed
}

// isQuiet tells whether a Sentinel sees the primary as a reachable primary and does nothing about it.
func isQuiet(seen topology.MonitorView) bool {
	return !seen.SubjectDown && !seen.ObjectDown && !seen.Disconnected && !seen.FailoverInProgress && seen.ReportedRole != topology.RoleReplica
}

// nodeAt is the index of the node with that address, or -1.
func nodeAt(valkey Valkey, address topology.Address) int {
	for i, node := range valkey.Nodes {
		if node.Host == address.Host && node.Port == address.Port {
			return i
		}
	}
	return -1
}

// realPrimary is the address of the node that is primary by its own word and by nobody's dispute; zero, with what is missing, where there
// is none. A Sentinel that is told to monitor anything else stays wrong for ever: it does not follow a replica to its primary.
func realPrimary(valkey *Valkey, views []held) (topology.Address, string) {
	if valkey.Members == nil {
		return agreedPrimary(valkey, views)
	}
	snapshot := topology.Snapshot{Members: valkey.Members}
	found := snapshot.Primary("") // the Sentinels are not asked: they may be what is wrong
	primary, known := snapshot.Member(found.Name)
	switch {
	case !slices.ContainsFunc(valkey.Members, topology.Member.Answered):
		return topology.Address{}, "no node can be reached yet"
	case len(found.Disputes) > 0:
		return topology.Address{}, found.Disputes[0].Text
	case !known:
		return topology.Address{}, "no node that can be reached is primary"
	case !primary.Reach.OK():
		return topology.Address{}, fmt.Sprintf("node %s reads its dataset", primary.Name)
	}
	if member, other := disputer(valkey.Members, primary); member != "" {
		return topology.Address{}, fmt.Sprintf("%s is primary, and %s follows %s with its link up", primary.Name, member, other)
	}
	return primary.Address, ""
}

// agreedPrimary is what all Sentinels that hold the monitor say, where nobody had a reason to ask the nodes.
func agreedPrimary(valkey *Valkey, views []held) (topology.Address, string) {
	if len(views) == 0 {
		return topology.Address{}, "no node has been asked"
	}
	agreed := views[0].view.Primary
	for _, at := range views {
		if at.view.Primary != agreed {
			return topology.Address{}, "no node has been asked"
		}
	}
	if nodeAt(*valkey, agreed) < 0 {
		return topology.Address{}, "no node has been asked"
	}
	return agreed, ""
}

// disputer is a replica that is in sync with somebody else than the primary: then there is a primary that cannot be reached from here.
// A replica of a replica disputes nothing.
func disputer(members []topology.Member, primary topology.Member) (name string, follows topology.Address) {
	for _, member := range members {
		if !member.Reach.OK() || member.Role != topology.RoleReplica || !member.LinkUp || primary.Is(member.Primary) {
			continue
		}
		chained := slices.ContainsFunc(members, func(other topology.Member) bool {
			return other.Is(member.Primary) && other.Reach.OK() && other.Role == topology.RoleReplica
		})
		if !chained {
			return member.Name, member.Primary
		}
	}
	return "", topology.Address{}
}

// memberAt is the member with that address, by whatever name.
func memberAt(members []topology.Member, address topology.Address) (topology.Member, bool) {
	return topology.Snapshot{Members: members}.MemberAt(address)
}

// sameAddress tells whether an address that a Sentinel names is that of the primary, by whatever name.
func sameAddress(members []topology.Member, named, primary topology.Address) bool {
	if named == primary {
		return true
	}
	member, ok := memberAt(members, named)
	return ok && member.Address == primary
}
