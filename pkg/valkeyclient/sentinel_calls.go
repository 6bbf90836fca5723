// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type sentinel struct{ link }

var _ Sentinel = (*sentinel)(nil)

func sentinelQuery(words ...string) request {
	return query(append([]string{"SENTINEL"}, words...)...).named(2)
}

func sentinelCommand(words ...string) request {
	r := sentinelQuery(words...)
	r.readOnly = false
	return r
}

func (s *sentinel) MyID(ctx context.Context) (string, error) {
	return read(ctx, s.link, sentinelQuery("MYID"), asText)
}

func (s *sentinel) Monitors(ctx context.Context) ([]Monitor, error) {
	return readEach(ctx, s.link, sentinelQuery("MASTERS"), fields.monitor,
		func(a, b Monitor) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *sentinel) MonitorByName(ctx context.Context, name string) (Monitor, error) {
	fieldsOfOne, err := read(ctx, s.link, sentinelQuery("MASTER", name), asTextMap)
	return fields(fieldsOfOne).monitor(), err
}

func (s *sentinel) Replicas(ctx context.Context, name string) ([]MonitoredReplica, error) {
	return readEach(ctx, s.link, sentinelQuery("REPLICAS", name), fields.replica,
		func(a, b MonitoredReplica) int { return cmp.Compare(a.Address.String(), b.Address.String()) })
}

func (s *sentinel) Sentinels(ctx context.Context, name string) ([]PeerSentinel, error) {
	return readEach(ctx, s.link, sentinelQuery("SENTINELS", name), fields.peer,
		func(a, b PeerSentinel) int { return cmp.Compare(a.ID, b.ID) })
}

func readEach[T any](ctx context.Context, l link, r request, convert func(fields) T, order func(a, b T) int) ([]T, error) {
	maps, err := read(ctx, l, r, asTextMaps)
	if err != nil {
		return nil, err
	}
	items := make([]T, 0, len(maps))
	for _, item := range maps {
		items = append(items, convert(item))
	}
	slices.SortFunc(items, order)
	return items, nil
}

func (s *sentinel) PrimaryAddr(ctx context.Context, name string) (Address, error) {
	r := sentinelQuery("GET-MASTER-ADDR-BY-NAME", name)
	reply, err := s.do(ctx, r)
	if err != nil {
		return Address{}, err
	}
	address, err := parsePrimaryAddr(reply)
	if errors.Is(err, ErrNoSuchMonitor) {
		return Address{}, &callError{class: ErrNoSuchMonitor, op: r.String(), target: s.target.String()}
	}
	if err != nil {
		return Address{}, s.failure(ctx, r, err)
	}
	return address, nil
}

func (s *sentinel) CheckQuorum(ctx context.Context, name string) (QuorumCheck, error) {
	text, err := read(ctx, s.link, sentinelQuery("CKQUORUM", name), asText)
	var failed *callError
	if errors.As(err, &failed) && errors.Is(failed.class, ErrNoQuorum) {
		return parseQuorum(failed.text), nil
	}
	if err != nil {
		return QuorumCheck{}, err
	}
	return parseQuorum(text), nil
}

func (s *sentinel) Register(ctx context.Context, registration Registration) error {
	primary := registration.Primary
	r := sentinelCommand("MONITOR", registration.Name, primary.Host, strconv.Itoa(primary.Port), strconv.Itoa(registration.Quorum))
	switch {
	case !IsMonitorName(registration.Name):
		return s.failure(ctx, r, fmt.Errorf("%w: monitor name %q", ErrInvalid, registration.Name))
	case primary.Host == "" || !isSafeWord(primary.Host) || primary.Port < 1 || primary.Port > 65535: // a Sentinel accepts port 0
		return s.failure(ctx, r, fmt.Errorf("%w: primary's address %q", ErrInvalid, primary))
	case registration.Quorum < 1:
		return s.failure(ctx, r, fmt.Errorf("%w: quorum %d", ErrInvalid, registration.Quorum))
	}
	return s.run(ctx, r)
}

func (s *sentinel) Remove(ctx context.Context, name string) error {
	return s.run(ctx, sentinelCommand("REMOVE", name))
}

func (s *sentinel) Set(ctx context.Context, name string, settings ...Setting) error {
	return s.set(ctx, sentinelCommand("SET", name), settings)
}

func (s *sentinel) ConfigGet(ctx context.Context, pattern string) (map[string]string, error) {
	return read(ctx, s.link, sentinelQuery("CONFIG", "GET", pattern).named(3), asTextMap)
}

func (s *sentinel) ConfigSet(ctx context.Context, settings ...Setting) error {
	return s.set(ctx, sentinelCommand("CONFIG", "SET").named(3), settings)
}

func (s *sentinel) Debug(ctx context.Context, settings ...Setting) error {
	return s.set(ctx, sentinelCommand("DEBUG"), settings)
}

func (s *sentinel) DebugGet(ctx context.Context) (map[string]string, error) {
	values, err := read(ctx, s.link, sentinelQuery("DEBUG"), asTextMap)
	lower := make(map[string]string, len(values))
	for name, value := range values {
		lower[strings.ToLower(name)] = value
	}
	return lower, err
}

// set refuses values that Sentinel would accept, write to its file as they are, and then not start with.
func (s *sentinel) set(ctx context.Context, r request, settings []Setting) error {
	for _, setting := range settings {
		if !isSafeWord(setting.Key) || !isSafeWord(setting.Value) {
			return s.failure(ctx, r, fmt.Errorf("%w: the value of %q holds a space, quote, backslash or control character",
				ErrInvalid, setting.Key))
		}
	}
	if err := r.add(settings); err != nil {
		return s.failure(ctx, r, err)
	}
	return s.run(ctx, r)
}

func (s *sentinel) Reset(ctx context.Context, pattern string) (int, error) {
	count, err := read(ctx, s.link, sentinelCommand("RESET", pattern), asInt)
	return int(count), err
}

func (s *sentinel) Failover(ctx context.Context, name string) error {
	return s.run(ctx, sentinelCommand("FAILOVER", name))
}

func (s *sentinel) FailoverCoordinated(ctx context.Context, name string) error {
	return s.run(ctx, sentinelCommand("FAILOVER", name, "COORDINATED"))
}

// IsMonitorName tells whether a Sentinel can keep a monitor of that name in its file: letters, digits, ".",
// "-", "_" only, and at least one of them.
func IsMonitorName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune(".-_", r)
	})
}

// isSafeWord tells whether a value can stand in a Sentinel's file without quoting. Empty is safe: it unsets.
func isSafeWord(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`"'\`, r) })
}
