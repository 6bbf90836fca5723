// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// Record is the memory.
type Record struct {
	// Node whose memory it is.
	Node string `json:"node"`
	// Role, and whom it followed.
	Role    topology.Role    `json:"role"`
	Primary topology.Address `json:"primary,omitzero"`
	// Position when the server was last seen as primary or linked to one.
	Position decision.Position `json:"position"`
	Keys     int64             `json:"keys"`
	// Logged is where the append-only file stands, where that is not at Position: the server has ceased to keep it, or begins another after a
	// full copy.
	Logged *decision.Position `json:"logged,omitempty"`
	// Clean: the server ended by itself after this was written, and what it keeps on disk is complete.
	Clean bool `json:"clean,omitempty"`
	// BootID is that of the machine's kernel: what a killed process had written is still there while it has not changed.
	BootID string `json:"bootID,omitempty"`
}

// Seen is the record after a look at the running server.
func (r Record) Seen(m topology.Member, when time.Time) Record {
	if m.Loading || m.Role == "" {
		return r
	}
	r.Role, r.Primary, r.Clean = m.Role, m.Primary, false
	r.Logged = r.logged(m)
	// A replica that has not been linked since its start may show a history that its data is not from.
	if m.Role != topology.RolePrimary && !m.LinkUp {
		if m.ReplID == r.Position.ReplID {
			r.Position.Offset = max(r.Position.Offset, m.Offset)
		}
		return r
	}
	earlier := []string{}
	if strings.Trim(m.ReplID2, "0") != "" {
		earlier = append(earlier, m.ReplID2)
	}
	r.Position = r.Position.MovedTo(m.ReplID, m.Offset, when.UTC().Truncate(time.Millisecond), earlier...)
	r.Keys = m.Keys
	return r
}

// logged is Logged after a look. A rewrite ends what a full copy or a change of the way of persistence began; any other leaves the file as whole as
// it was.
func (r Record) logged(m topology.Member) *decision.Position {
	copied := m.ReplID != r.Position.ReplID
	switch {
	case m.Persistence.AOFEnabled && (!m.Persistence.AOFRewriting || r.Logged == nil && !copied):
		return nil
	case r.Logged != nil:
		return r.Logged
	}
	position := r.Position
	return &position
}

// IsLogStale tells whether the append-only file is known to lack something.
func (r *Record) IsLogStale() bool { return r != nil && r.Logged != nil }

// OnDisk is where the data on disk stands, and whether it is all that the node ever had. A nil record knows nothing.
func (r *Record) OnDisk(disk dataset.Disk, bootID string) (position decision.Position, complete bool) {
	if !disk.HasData() {
		return decision.Position{}, false
	}
	if r == nil {
		return decision.Position{ReplID: disk.ReplID, Offset: disk.Offset, When: disk.Written}, false
	}
	defer func() { position.Whole = complete && r.Role == topology.RolePrimary }()
	if disk.Kind == dataset.KindAOF {
		if r.IsLogStale() {
			position = *r.Logged
			if position.ReplID == "" { // from before the first look: whatever the history has come to since, the file is behind it
				position.ReplID = r.Position.ReplID
			}
			return position, false
		}
		// Every acknowledged write was handed to the kernel first (see docs/adr/0026-files-of-killed-servers.md for what was not).
		// One that is to be given up may have been given up already, since the last look.
		return r.Position, !disk.Converts && (r.Clean || r.BootID != "" && r.BootID == bootID)
	}
	position = decision.Position{ReplID: disk.ReplID, Offset: disk.Offset, When: disk.Written}
	if disk.ReplID == r.Position.ReplID {
		position.History = r.Position.History
		return position, r.Clean && disk.Offset >= r.Position.Offset
	}
	for i, id := range r.Position.History {
		if id == disk.ReplID {
			position.History = r.Position.History[:i]
		}
	}
	return position, false
}

// Load reads the record of the node. Nil without an error: there is none, or it is another node's.
func Load(file, node string) (*Record, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	if r.Node != node {
		return nil, nil
	}
	return &r, nil
}

// Save replaces the file. It is not forced to the disk: a record that a power failure takes is missed by nobody, since it is
// only a tie-breaker.
func (r Record) Save(file string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	temporary := filepath.Join(filepath.Dir(file), filepath.Base(file)+".new")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

// BootID identifies the time since the machine's kernel was started; empty where that is not known.
func BootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
