// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"time"
)

// Memory is what a process of the controller knows of what it set on the Sentinels and what they do not show: credentials, and settings
// that SENTINEL MASTER does not list. It is lost with the process, and nothing depends on it but economy: see credentialsDue.
type Memory map[Key]Record

// Key is one monitor in one Sentinel process.
type Key struct {
	// Run is Sentinel.Run.
	Run, Monitor string
}

// Record is what is known of one monitor in one Sentinel process.
type Record struct {
	// Credentials is the hash of user and password that the Sentinel holds.
	Credentials string
	// Confirmed: we set the credentials ourselves. Otherwise they are only believed, because the Sentinel can log in.
	Confirmed bool
	// SetAt is when we last set them.
	SetAt time.Time
	// Hidden are settings we set that the Sentinel does not show.
	Hidden map[string]string
	// Refused are settings that the Sentinel refused, "key value", with its words.
	Refused map[string]string
	// WrongSince is when its address was first seen to differ from the real primary's; zero while it does not.
	WrongSince time.Time
	// RegisteredAt is when we registered it; zero where somebody else did.
	RegisteredAt time.Time
}

// settling is how long a monitor that was just registered may be without a quorum: its Sentinels have to find each other first.
const settling = 10 * time.Second

// isSettling tells whether the monitor was registered only just now.
func (m Memory) isSettling(monitor string, now time.Time) bool {
	for key, record := range m {
		if key.Monitor == monitor && !record.RegisteredAt.IsZero() && now.Sub(record.RegisteredAt) < settling {
			return true
		}
	}
	return false
}

// clone is a copy that may be changed.
func (r Record) clone() Record {
	r.Hidden, r.Refused = maps.Clone(r.Hidden), maps.Clone(r.Refused)
	if r.Hidden == nil {
		r.Hidden = map[string]string{}
	}
	if r.Refused == nil {
		r.Refused = map[string]string{}
	}
	return r
}

// RefusedKey is the key of Record.Refused.
func RefusedKey(key, value string) string { return key + " " + value }

// Learn is the memory after a pass: with what the plan has come to believe and what its actions did. Processes that are gone are forgotten.
func Learn(observed Observed, done Plan, outcomes []Outcome) Memory {
	learned := Memory{}
	runs, complete := map[string]bool{}, true
	for _, sentinel := range observed.Sentinels {
		runs[sentinel.Run] = true
		complete = complete && sentinel.View.Reach.OK()
	}
	for key, record := range observed.Memory {
		// One that does not answer now may be the same process when it does.
		if runs[key.Run] || !complete {
			learned[key] = record
		}
	}
	maps.Copy(learned, done.Believed)
	for _, outcome := range outcomes {
		if !outcome.Skipped {
			learned.note(outcome, observed.Now)
		}
	}
	return learned
}

// note takes over what one action did.
func (m Memory) note(outcome Outcome, now time.Time) {
	change := func(run, monitor string, change func(*Record)) {
		record := m[Key{Run: run, Monitor: monitor}].clone()
		change(&record)
		m[Key{Run: run, Monitor: monitor}] = record
	}
	switch action := outcome.Action.(type) {
	case Register:
		if outcome.Err == nil {
			m[Key{Run: action.Run, Monitor: action.Monitor}] = Record{RegisteredAt: now}
		}
	case Remove:
		if outcome.Err == nil {
			delete(m, Key{Run: action.Run, Monitor: action.Monitor})
		}
	case SetCredentials:
		if outcome.Err == nil {
			change(action.Run, action.Monitor, func(record *Record) {
				record.Credentials, record.Confirmed, record.SetAt = action.Hash, true, now
			})
		}
	case SetSetting:
		if outcome.Refused != "" {
			change(action.Run, action.Monitor, func(record *Record) {
				record.Refused[RefusedKey(action.Key, action.Value)] = outcome.Refused
			})
		} else if outcome.Err == nil && action.Hidden {
			change(action.Run, action.Monitor, func(record *Record) { record.Hidden[action.Key] = action.Value })
		}
	}
}
