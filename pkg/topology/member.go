// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"
	"strings"
)

// Member finds a member by name.
func (s Snapshot) Member(name string) (Member, bool) {
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Name == name })
	if i < 0 {
		return Member{}, false
	}
	return s.Members[i], true
}

// MemberAt finds the member that an address means: by host name, short name or IP, and port.
func (s Snapshot) MemberAt(address Address) (Member, bool) {
	i := slices.IndexFunc(s.Members, func(m Member) bool { return m.Is(address) })
	if i < 0 {
		return Member{}, false
	}
	return s.Members[i], true
}

// nameAt is the name of the member at an address, or the address itself for people to read.
func (s Snapshot) nameAt(address Address) string {
	if m, known := s.MemberAt(address); known {
		return m.Name
	}
	return address.String()
}

// Is tells whether the address means this member.
func (m Member) Is(address Address) bool {
	if address.Host == "" || address.Port != m.Address.Port {
		return false
	}
	if sameHost(address.Host, m.Address.Host) {
		return true
	}
	return slices.ContainsFunc(m.Aliases, func(alias string) bool { return sameHost(alias, address.Host) })
}

// sameHost compares names without regard to case and a trailing dot.
func sameHost(a, b string) bool {
	return a != "" && strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
}

// Answered tells whether the member said what it is: a member that loads its dataset does too.
func (m Member) Answered() bool { return m.Reach.OK() || m.Reach.Class == ReachLoading }

// HasData tells whether the member is known to hold keys. A member that is still loading may hold more than it says, and
// counts as holding data.
func (m Member) HasData() bool { return m.Answered() && (m.Keys > 0 || m.Loading) }

// FullText says for people that a server takes no more connections, and what to do.
func FullText(node string) string {
	return node + " has as many clients as its maxclients allows, and takes no more connections, the product's own included: " +
		"close clients, or raise maxclients in spec.config"
}

// wasLinked tells whether a replica has been linked to a primary since it started.
func (m Member) wasLinked() bool { return m.LinkUp || m.LinkDownFor >= 0 }

// isEmpty tells whether the member is known to hold nothing.
func (m Member) isEmpty() bool { return m.Answered() && m.Keys == 0 && !m.Loading && !m.Syncing }

// follows tells whether the member says that it replicates from the other.
func (m Member) follows(primary Member) bool {
	return m.Answered() && m.Role == RoleReplica && primary.Is(m.Primary)
}

// claims tells whether the member says that it is primary.
func (m Member) claims() bool { return m.Answered() && m.Role == RolePrimary }

// Succeeds tells whether both say that they are primary and the member was promoted as a replica of the other: it is the
// later one, and what the other still acknowledges will be lost.
func (m Member) Succeeds(other Member) bool {
	return m.claims() && other.claims() && m.ReplID2 != "" && m.ReplID2 == other.ReplID
}

// syncedTo tells whether the member is a replica of the primary with a complete copy and a working link.
func (m Member) syncedTo(primary Member) bool {
	return m.Reach.OK() && m.follows(primary) && m.LinkUp && !m.Syncing && !m.Loading
}

// history compares what two members hold. Offsets count bytes of one history only.
type history int

const (
	// unrelated: the histories parted, or it cannot be told.
	unrelated history = iota
	// older: the first lacks something that the second has, and has nothing that the second lacks.
	older
	same
	newer
)

// compareHistory says how a's data relates to b's, by the rules of partial resynchronisation (replication.c): b's history
// is contained in a's if a's current id is b's, or a's previous id is b's and b did not go beyond where a left it.
func compareHistory(a, b Member) history {
	switch {
	case a.ReplID == "" || b.ReplID == "":
		return unrelated
	case a.ReplID == b.ReplID && a.Offset == b.Offset:
		return same
	case a.ReplID == b.ReplID && a.Offset > b.Offset:
		return newer
	case a.ReplID == b.ReplID:
		return older
	case a.ReplID2 == b.ReplID && b.Offset <= a.SecondOffset:
		return newer
	case b.ReplID2 == a.ReplID && a.Offset <= b.SecondOffset:
		return older
	}
	return unrelated
}
