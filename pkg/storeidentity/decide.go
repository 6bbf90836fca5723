// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import "fmt"

// Seen is what the store and the record say about who the store is.
type Seen struct {
	// Stored is the id in the store; empty when it has none.
	Stored string
	// Recorded is the id on record in Kubernetes; empty when there is none.
	Recorded string
	// Accepted is the id of a store that a person has confirmed as the new one, or AcceptEmpty for one without an id.
	Accepted string
	// Child is something in Kubernetes that an object of a store of ours owns; empty when there is none, or when it does not matter.
	Child string
}

// AcceptEmpty is what a person writes to accept a store that has no id yet.
const AcceptEmpty = "empty"

// verdict is what is to be done about a store.
type verdict int

const (
	// confirmed: the store is the one on record.
	confirmed verdict = iota
	// birth: neither the store nor the record knows an id, and nothing shows that there was one. One is written to both, the store first.
	birth
	// record: the store has an id and nothing is on record, or a person accepted it. It goes on record.
	record
	// replace: a person accepted an empty store. It gets a new id, and that goes on record.
	replace
	// refuse: the store is not the one on record. Nothing is served.
	refuse
)

// decide is pure: what to do about a store, and why where it is refused.
func decide(s Seen) (verdict, string) {
	switch {
	case s.Stored == "" && s.Recorded == "" && s.Child != "" && s.Accepted != AcceptEmpty:
		return refuse, fmt.Sprintf("the store is empty and none is on record, but there is %s, which would be deleted with everything like it: its owner is in "+
			"a store that was here before. Restore a snapshot of it, or, if all that is to be given up, %s", s.Child, accept(AcceptEmpty))
	case s.Stored == "" && s.Recorded == "":
		return birth, ""
	case s.Stored == s.Recorded:
		return confirmed, ""
	case s.Recorded == "":
		return record, ""
	case s.Stored == "" && s.Accepted == AcceptEmpty:
		return replace, ""
	case s.Stored != "" && s.Accepted == s.Stored:
		return record, ""
	case s.Stored == "":
		return refuse, fmt.Sprintf("the store is empty, the store on record is %s; serving it would look as if every object had been deleted. "+
			"Restore the store, or, if its objects are really to be given up, %s", s.Recorded, accept(AcceptEmpty))
	default:
		return refuse, fmt.Sprintf("the store is %s, the store on record is %s; serving it would look as if objects had been deleted. "+
			"Connect the store on record, or %s", s.Stored, s.Recorded, accept(s.Stored))
	}
}

// accept is what a person does to have another store served.
func accept(id string) string {
	return fmt.Sprintf("accept this one: annotate the ConfigMap %s in the API server's namespace, made empty if there is none, with %s=%s",
		ConfigMapName, AnnotationAccept, id)
}
