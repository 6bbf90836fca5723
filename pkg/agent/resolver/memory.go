// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// maxAnswers bounds the memory. A set has a handful of names; the rest is what a server happens to be told.
const maxAnswers = 2048

type key struct {
	name string
	kind uint16
}

func keyOf(question dns.Question) key { return key{dns.CanonicalName(question.Name), question.Qtype} }

func keyWith(k key, kind uint16) key { return key{k.name, kind} }

func (k key) String() string { return k.name + " " + dns.TypeToString[k.kind] }

// answer is what was said about a name. It is never changed.
type answer struct {
	rcode              int
	records, authority []dns.RR
	ttl                uint32
}

type entry struct {
	answer  *answer
	expires time.Time
	used    time.Time
}

// memory is the last answers, with how long they are fresh.
type memory struct {
	domain string

	mu      sync.Mutex
	entries map[key]*entry
	changed bool // since the last save
}

func newMemory(clusterDomain string) *memory {
	return &memory{domain: dns.CanonicalName(clusterDomain), entries: map[key]*entry{}}
}

// fresh is the answer that may be given without asking, and the seconds it still holds.
func (m *memory) fresh(k key, now time.Time) (*answer, uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[k]
	if e == nil || !now.Before(e.expires) {
		return nil, 0
	}
	e.used = now
	return e.answer, uint32(e.expires.Sub(now)/time.Second) + 1
}

// remembered is the last good answer, however old. That a name does not exist is not worth remembering.
func (m *memory) remembered(k key) *answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[k]
	if e == nil || e.answer.rcode != dns.RcodeSuccess || !dns.IsSubDomain(m.domain, k.name) {
		return nil
	}
	e.used = time.Now()
	return e.answer
}

// learn keeps an answer in place of any before. One that the name does not exist is about all kinds of records.
func (m *memory) learn(k key, a *answer, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.rcode == dns.RcodeNameError {
		for other := range m.entries {
			if other.name == k.name {
				delete(m.entries, other)
			}
		}
	}
	m.changed = true
	m.entries[k] = &entry{answer: a, expires: now.Add(time.Duration(a.ttl) * time.Second), used: now}
	if len(m.entries) > maxAnswers {
		m.forgetOldest()
	}
}

func (m *memory) forgetOldest() {
	var oldest key
	var used time.Time
	for k, e := range m.entries {
		if used.IsZero() || e.used.Before(used) {
			oldest, used = k, e.used
		}
	}
	delete(m.entries, oldest)
}

// know puts addresses there as if they had been answered long ago.
func (m *memory) know(known map[string][]netip.Addr) {
	for name, addresses := range known {
		records := map[uint16][]dns.RR{}
		for _, address := range addresses {
			header := dns.RR_Header{Name: dns.CanonicalName(name), Class: dns.ClassINET, Ttl: staleTTL, Rrtype: dns.TypeA}
			if address.Is4() {
				records[dns.TypeA] = append(records[dns.TypeA], &dns.A{Hdr: header, A: address.AsSlice()})
				continue
			}
			header.Rrtype = dns.TypeAAAA
			records[dns.TypeAAAA] = append(records[dns.TypeAAAA], &dns.AAAA{Hdr: header, AAAA: address.AsSlice()})
		}
		for kind, list := range records {
			m.entries[key{dns.CanonicalName(name), kind}] = &entry{answer: &answer{records: list}}
		}
	}
}

// savedAnswer is one answer in the file; records as in a zone file.
type savedAnswer struct {
	Name    string   `json:"name"`
	Kind    string   `json:"kind"`
	Records []string `json:"records,omitempty"`
}

// save writes what would be served in a silence, if it has changed.
func (m *memory) save(file string) error {
	m.mu.Lock()
	changed, saved := m.changed && file != "", []savedAnswer{}
	if changed {
		for k, e := range m.entries {
			if e.answer.rcode != dns.RcodeSuccess || !dns.IsSubDomain(m.domain, k.name) {
				continue
			}
			s := savedAnswer{Name: k.name, Kind: dns.TypeToString[k.kind]}
			for _, record := range e.answer.records {
				s.Records = append(s.Records, record.String())
			}
			saved = append(saved, s)
		}
	}
	m.changed = false
	m.mu.Unlock()
	if !changed {
		return nil
	}
	slices.SortFunc(saved, func(a, b savedAnswer) int { return strings.Compare(a.Name+" "+a.Kind, b.Name+" "+b.Kind) })
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return replaceFile(file, text)
}

func replaceFile(file string, text []byte) error {
	if old, err := os.ReadFile(file); err == nil && string(old) == string(text) {
		return nil
	}
	temporary := filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".new")
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

// load reads what save wrote. What cannot be read is left out.
func (m *memory) load(file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var saved []savedAnswer
	if err := json.Unmarshal(text, &saved); err != nil {
		return fmt.Errorf("read remembered names: %w", err)
	}
	for _, s := range saved[:min(len(saved), maxAnswers)] {
		kind, known := dns.StringToType[s.Kind]
		records, err := parseRecords(s.Records)
		if known && err == nil {
			m.entries[key{dns.CanonicalName(s.Name), kind}] = &entry{answer: &answer{records: records}}
		}
	}
	return nil
}

func parseRecords(lines []string) ([]dns.RR, error) {
	var records []dns.RR
	for _, line := range lines {
		record, err := dns.NewRR(line)
		if err != nil || record == nil {
			return nil, fmt.Errorf("record %q: %w", line, err)
		}
		records = append(records, record)
	}
	return records, nil
}
