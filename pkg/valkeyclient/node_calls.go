// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

type node struct{ link }

var _ Node = (*node)(nil)

// run makes a request whose answer says nothing.
func (l link) run(ctx context.Context, r request) error {
	_, err := l.do(ctx, r)
	return err
}

// read makes a request and parses its answer.
func read[T any](ctx context.Context, l link, r request, parse func(any) (T, error)) (T, error) {
	var parsed T
	reply, err := l.do(ctx, r)
	if err != nil {
		return parsed, err
	}
	if parsed, err = parse(reply); err != nil {
		return parsed, l.failure(ctx, r, err)
	}
	return parsed, nil
}

func (l link) Ping(ctx context.Context) error { return l.run(ctx, query("PING")) }

func (l link) Info(ctx context.Context, sections ...string) (Info, error) {
	text, err := read(ctx, l, query(append([]string{"INFO"}, sections...)...), asText)
	return parseInfo(text), err
}

func (l link) ACLWhoAmI(ctx context.Context) (string, error) {
	return read(ctx, l, query("ACL", "WHOAMI").named(2), asText)
}

func (l link) ACLLoad(ctx context.Context) error { return l.run(ctx, command("ACL", "LOAD").named(2)) }

func (n *node) Role(ctx context.Context) (RoleReport, error) {
	return read(ctx, n.link, query("ROLE"), parseRole)
}

func (n *node) Replication(ctx context.Context) (Replication, error) {
	info, err := n.Info(ctx, "replication")
	return info.Replication(), err
}

func (n *node) Status(ctx context.Context) (Status, error) {
	info, err := n.Info(ctx, "server", "clients", "replication", "persistence", "keyspace", "memory")
	return info.Status(), err
}

func (n *node) DBSize(ctx context.Context) (int64, error) {
	return read(ctx, n.link, query("DBSIZE"), asInt)
}

func (n *node) ConfigGet(ctx context.Context, patterns ...string) (map[string]string, error) {
	return read(ctx, n.link, query(append([]string{"CONFIG", "GET"}, patterns...)...).named(2), asTextMap)
}

func (n *node) ConfigSet(ctx context.Context, settings ...Setting) error {
	r := command("CONFIG", "SET").named(2)
	if err := r.add(settings); err != nil {
		return n.failure(ctx, r, err)
	}
	return n.run(ctx, r)
}

func (n *node) ConfigRewrite(ctx context.Context) error {
	return n.run(ctx, command("CONFIG", "REWRITE").named(2))
}

func (n *node) ReplicaOf(ctx context.Context, primary Address) error {
	r := command("REPLICAOF", primary.Host, strconv.Itoa(primary.Port)).named(3)
	if primary.Host == "" || primary.Port < 1 || primary.Port > 65535 {
		return n.failure(ctx, r, fmt.Errorf("%w: address %q", ErrInvalid, primary))
	}
	return n.run(ctx, r)
}

func (n *node) ReplicaOfNoOne(ctx context.Context) error {
	return n.run(ctx, command("REPLICAOF", "NO", "ONE").named(3))
}

func (n *node) Failover(ctx context.Context, request FailoverRequest) error {
	words := []string{"FAILOVER"}
	if !request.To.IsZero() {
		words = append(words, "TO", request.To.Host, strconv.Itoa(request.To.Port))
		if request.Force {
			words = append(words, "FORCE")
		}
	}
	if request.Timeout > 0 {
		words = append(words, "TIMEOUT", milliseconds(request.Timeout))
	}
	return n.run(ctx, command(words...))
}

func (n *node) FailoverAbort(ctx context.Context) error {
	err := n.run(ctx, command("FAILOVER", "ABORT").named(2))
	var failed *callError
	if errors.As(err, &failed) && errors.Is(failed.class, ErrInvalid) && strings.Contains(failed.text, "No failover in progress") {
		return nil
	}
	return err
}

func (n *node) ClientPause(ctx context.Context, mode PauseMode, d time.Duration) error {
	return n.run(ctx, command("CLIENT", "PAUSE", milliseconds(d), string(mode)).named(2))
}

func (n *node) ClientUnpause(ctx context.Context) error {
	return n.run(ctx, command("CLIENT", "UNPAUSE").named(2))
}

func (n *node) ClientKill(ctx context.Context, types ...ClientType) (int, error) {
	killed := 0
	for _, kind := range types {
		count, err := read(ctx, n.link, command("CLIENT", "KILL", "TYPE", string(kind), "SKIPME", "yes").named(2), asInt)
		if err != nil {
			return killed, err
		}
		killed += int(count)
	}
	return killed, nil
}

func (n *node) ClientKillUser(ctx context.Context, user string) (int, error) {
	count, err := read(ctx, n.link, command("CLIENT", "KILL", "USER", user, "SKIPME", "yes").named(2), asInt)
	return int(count), err
}

func (n *node) ClientList(ctx context.Context) ([]Connected, error) {
	text, err := read(ctx, n.link, query("CLIENT", "LIST").named(2), asText)
	return parseClients(text), err
}

func (n *node) ACLList(ctx context.Context) ([]string, error) {
	return read(ctx, n.link, query("ACL", "LIST").named(2), asTexts)
}

// shutdownWait is how long a server may wait for its replicas (shutdown-timeout, 10 s by default) and write
// its RDB before it closes the connection; a caller with less time says so in ctx.
const shutdownWait = 5 * time.Minute

func (n *node) Shutdown(ctx context.Context, options ShutdownOptions) error {
	words := []string{"SHUTDOWN"}
	for _, option := range []struct {
		set  bool
		word string
	}{{options.NoSave, "NOSAVE"}, {options.Now, "NOW"}, {options.Force, "FORCE"}} {
		if option.set {
			words = append(words, option.word)
		}
	}
	r := command(words...)
	r.wait = shutdownWait
	peer, _, err := n.client.acquire(n.target)
	if err != nil {
		return n.failure(ctx, r, err)
	}
	defer n.client.release(peer)
	_, err = n.attempt(ctx, peer, r)
	if err == nil || staleConnection(err) { // it said farewell by hanging up
		n.client.drop(n.target, peer)
		return nil
	}
	return n.failure(ctx, r, err)
}

func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(d.Milliseconds(), 0), 10)
}

// add appends the settings to the request, and remembers the values that must not be shown.
func (r *request) add(settings []Setting) error {
	if len(settings) == 0 {
		return fmt.Errorf("%w: no settings", ErrInvalid)
	}
	for _, setting := range settings {
		if setting.Key == "" {
			return fmt.Errorf("%w: a setting without a key", ErrInvalid)
		}
		r.words = append(r.words, setting.Key, setting.Value)
		if isSecret(setting.Key) {
			r.secrets = append(r.secrets, setting.Value)
		}
	}
	return nil
}

// isSecret tells by the key whether a value is a password: requirepass, masterauth, primaryauth, auth-pass,
// sentinel-pass, tls-key-file-pass.
func isSecret(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "pass") || strings.HasSuffix(key, "masterauth") || strings.HasSuffix(key, "primaryauth")
}
