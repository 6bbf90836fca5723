// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"time"
)

// Memory is what a process of the controller knows of a node from earlier passes: which children need no second look and, of one run of its
// server, what that does not tell: how it spells what it was told, what it refused, and since when another ACL file is awaited.
type Memory struct {
	// Settled are the children that were found to be as wanted, with what they were and were built from: see draft.keep.
	Settled map[Kind]string
	// SilentSince is since when the server in a ready pod has not answered; zero while it does.
	SilentSince time.Time
	// RunID of the server that the rest is about.
	RunID string
	// Config by directive.
	Config map[string]Setting
	ACL    ACLMemory
	// Mounts is about the pod, and outlives the server's runs in it.
	Mounts MountMemory
}

// Setting is a directive that the server was told.
type Setting struct {
	Wanted string
	// Reported is how the server spells it.
	Reported string
	// Refused are the server's words when it refused. Empty: it did not.
	Refused string
}

// ACLMemory is what is known of the ACL file in force.
type ACLMemory struct {
	// Wanted is the hash of the file that is awaited or in force.
	Wanted string
	// Since is when that file was first wanted.
	Since time.Time
	// LoadedAt is when the server was last told to load its file; zero: not yet.
	LoadedAt time.Time
	// Before is the hash of what the server reported when the file was first wanted.
	Before string
	// Refused are the words of a server that could not load its file.
	Refused string
	// Settled is the hash of what the server reported when the file was found to be in force. Empty: it was not yet.
	Settled string
}

// withSettled is the memory with one child more that is as wanted.
func (m Memory) withSettled(kind Kind, key string) Memory {
	settled := maps.Clone(m.Settled)
	if settled == nil {
		settled = map[Kind]string{}
	}
	settled[kind] = key
	m.Settled = settled
	return m
}

// of is the memory if it is about this run of the server, else an empty one.
func (m Memory) of(runID string) Memory {
	if m.RunID != runID {
		return Memory{Settled: m.Settled, Mounts: m.Mounts, RunID: runID, Config: map[string]Setting{}}
	}
	m.Config = maps.Clone(m.Config)
	if m.Config == nil {
		m.Config = map[string]Setting{}
	}
	return m
}

// Remember is the memory to keep after the actions of a plan: what the server was told, and how it answered.
func Remember(plan Plan, outcomes []Outcome, now time.Time) Memory {
	memory := plan.Memory.of(plan.Memory.RunID)
	for _, outcome := range outcomes {
		isTold := outcome.Err == nil || outcome.Refused != "" && !outcome.ForNow
		switch action := outcome.Action.(type) {
		case SetConfig:
			if isTold {
				memory.Config[action.Key] = Setting{Wanted: action.Value, Reported: outcome.Reported, Refused: outcome.Refused}
			}
		case LoadACL:
			if isTold {
				memory.ACL.LoadedAt, memory.ACL.Refused = now, outcome.Refused
			}
		}
	}
	return memory
}
