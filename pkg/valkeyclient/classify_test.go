// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
	"testing"
)

func TestAnswersHaveClasses(t *testing.T) {
	for text, want := range map[string]error{
		"WRONGPASS invalid username-password pair or user is disabled.":            ErrAuth,
		"NOAUTH HELLO must be called with the client already authenticated":        ErrAuth,
		"DENIED Running in protected mode":                                         ErrAuth,
		"AUTH <password> called without any password configured":                   ErrAuth,
		"NOPERM User x has no permissions to run the 'get' command":                ErrPermission,
		"LOADING Valkey is loading the dataset in memory":                          ErrLoading,
		"READONLY You can't write against a read only replica.":                    ErrReadOnly,
		"NOGOODSLAVE No suitable replica to promote":                               ErrNoGoodReplica,
		"INPROG Failover already in progress":                                      ErrInProgress,
		"NOQUORUM 1 usable Sentinels.":                                             ErrNoQuorum,
		"No such master with that name":                                            ErrNoSuchMonitor,
		"No such primary with that name":                                           ErrNoSuchMonitor,
		"Duplicate master name.":                                                   ErrDuplicateMonitor,
		"Duplicate primary name.":                                                  ErrDuplicateMonitor,
		"FAILOVER already in progress.":                                            ErrInProgress,
		"FAILOVER requires connected replicas.":                                    ErrNoGoodReplica,
		"FAILOVER target HOST and PORT is not a replica.":                          ErrNoGoodReplica,
		"FAILOVER is not valid when server is a replica.":                          ErrReadOnly,
		"max number of clients reached":                                            ErrTooManyClients,
		"CONFIG SET failed (possibly related to argument 'x') - argument couldn't": ErrInvalid,
		"Invalid IP address or hostname specified":                                 ErrInvalid,
		"BUSY Valkey is busy running a script.":                                    ErrUnexpected,
		"MISCONF Valkey is configured to save RDB snapshots":                       ErrUnexpected,
	} {
		if got := classOfAnswer(text); got != want { //nolint:errorlint // the class itself
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestNetworkFailuresHaveClasses(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"refused":            {&dialError{error: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}, ErrUnreachable},
		"dial took too long": {&dialError{error: context.DeadlineExceeded}, ErrUnreachable},
		"no such host":       {&dialError{error: &net.DNSError{Err: "no such host"}}, ErrUnreachable},
		"handshake":          {&dialError{error: errors.New("x509: unknown authority"), tls: true}, ErrTLS},
		"handshake too slow": {&dialError{error: context.DeadlineExceeded, tls: true}, ErrUnreachable},
		"no answer":          {context.DeadlineExceeded, ErrTimeout},
		"caller gave up":     {context.Canceled, ErrTimeout},
		"hung up":            {io.EOF, ErrUnreachable},
		"reset":              {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, ErrUnreachable},
		"closed":             {fmt.Errorf("x: %w", ErrClosed), ErrClosed},
	} {
		if got := classOf(c.err); got != c.want { //nolint:errorlint // the class itself
			t.Errorf("%s is %v, want %v", name, got, c.want)
		}
	}
}

func TestErrorsSayWhoAndWhyAndNoSecret(t *testing.T) {
	l := link{target: Target{Name: "node-0", Address: "h:1", Credentials: Credentials{Username: "u", Password: "geheim"}}}
	r := command("CONFIG", "SET", "masterauth", "vertraulich").named(2)
	r.secrets = []string{"vertraulich"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := l.failure(ctx, r, fmt.Errorf("unknown command, with args beginning with: 'vertraulich' 'geheim'\r\nnext line %s: %w", strings.Repeat("x", 1000), io.EOF))
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.Canceled) {
		t.Errorf("classes of %v", err)
	}
	text := err.Error()
	if !strings.HasPrefix(text, "CONFIG SET on node-0 (h:1): unreachable: ") || strings.Contains(text, "geheim") || strings.Contains(text, "vertraulich") ||
		strings.ContainsAny(text, "\r\n") || len(text) > 500 {
		t.Errorf("%q", text)
	}
	if again := l.failure(ctx, r, err); again.Error() != text {
		t.Errorf("wrapped twice: %v", again)
	}
}

func TestSecretSettingsAreKnownByTheirKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"masterauth": true, "primaryauth": true, "requirepass": true, "auth-pass": true, "sentinel-pass": true, "tls-key-file-pass": true, "MasterAuth": true,
		"masteruser": false, "hz": false, "auth-user": false,
	} {
		if isSecret(key) != want {
			t.Errorf("%s", key)
		}
	}
}

func TestCredentialsAreNeverPrinted(t *testing.T) {
	credentials := Credentials{Username: "u", Password: "geheim"}
	target := Target{Name: "n", Address: "h:1", Credentials: credentials}
	var logged strings.Builder
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "credentials", credentials, "target", target)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "credentials", credentials, "target", target)
	encoded, err := json.Marshal(credentials)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		credentials.String(), logged.String(), string(encoded), target.String(),
		fmt.Sprintf("%v %+v %#v %s %q %x %d", credentials, credentials, credentials, credentials, credentials, credentials, credentials),
		fmt.Sprintf("%v %+v %#v %s %q", target, target, target, target, target), fmt.Sprintf("%v %+v", &target, []Target{target}),
		fmt.Sprintf("%v %+v %#v", struct{ C *Credentials }{&credentials}, map[string]Credentials{"a": credentials}, &credentials),
	} {
		if strings.Contains(text, "geheim") || strings.Contains(text, "67656865696d") {
			t.Errorf("the password is in %q", text)
		}
	}
	if got := (Credentials{}).String(); got != "anonymous" {
		t.Error(got)
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{"h:1": {"h", 1}, "[fd00::1]:65535": {"fd00::1", 65535}, "10.0.0.1:6379": {"10.0.0.1", 6379}} {
		got, err := ParseAddress(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "h", "h:", ":1", "h:0", "h:65536", "h:x", "fd00::1:1"} {
		if got, err := ParseAddress(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
