// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/valkey-io/valkey-go"
)

// callError is a failed request: whom and what, its class, and the server's or the network's words.
type callError struct {
	class  error
	cause  error // ctx's error, or nil
	op     string
	target string
	text   string
}

func (e *callError) Error() string {
	message := e.op + " on " + e.target + ": " + e.class.Error()
	if e.text != "" {
		message += ": " + e.text
	}
	return message
}

func (e *callError) Unwrap() []error {
	if e.cause != nil {
		return []error{e.class, e.cause}
	}
	return []error{e.class}
}

// failure turns whatever went wrong into an error of one class, without secrets.
func (l link) failure(ctx context.Context, r request, err error) error {
	var already *callError
	if errors.As(err, &already) {
		return &callError{class: already.class, cause: already.cause, op: r.String(), target: already.target, text: already.text}
	}
	secrets := append([]string{l.target.Credentials.Password}, r.secrets...)
	return &callError{
		class: classOf(err), cause: endOf(ctx, err), op: r.String(), target: l.target.String(), text: redact(err.Error(), secrets),
	}
}

// endOf is the error of a caller's context that ended. A connection's deadline, which is the context's, may be over a moment
// before the context notices.
func endOf(ctx context.Context, err error) error {
	deadline, limited := ctx.Deadline()
	if ctx.Err() == nil && limited && isTimeout(err) && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

func classOf(err error) error {
	var dial *dialError
	var answer *valkey.ValkeyError
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrInvalid), errors.Is(err, ErrUnexpected):
		return firstOf(err, ErrClosed, ErrInvalid, ErrUnexpected)
	case errors.As(err, &dial) && dial.tls && !isTimeout(err):
		return ErrTLS
	case errors.As(err, &dial):
		return ErrUnreachable
	case errors.As(err, &answer):
		return classOfAnswer(answer.Error())
	case isTimeout(err), errors.Is(err, context.Canceled):
		return ErrTimeout
	default:
		return ErrUnreachable
	}
}

func firstOf(err error, classes ...error) error {
	for _, class := range classes {
		if errors.Is(err, class) {
			return class
		}
	}
	return ErrUnexpected
}

func isTimeout(err error) bool {
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout()
}

// staleConnection tells whether the error is that of a connection that had been closed by the other side.
func staleConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || errors.Is(err, valkey.ErrClosing)
}

// codeClasses is the code words that error answers begin with, except the general "ERR", which the library
// takes away. Sources: sentinel.c, acl.c, networking.c, server.c of 8.0 to 9.1.
var codeClasses = map[string]error{
	"WRONGPASS":     ErrAuth,
	"NOAUTH":        ErrAuth,
	"DENIED":        ErrAuth, // protected mode
	"NOPERM":        ErrPermission,
	"LOADING":       ErrLoading,
	"READONLY":      ErrReadOnly,
	"NOGOODSLAVE":   ErrNoGoodReplica,
	"NOGOODPRIMARY": ErrNoGoodReplica,
	"INPROG":        ErrInProgress,
	"NOQUORUM":      ErrNoQuorum,
	"BUSY":          ErrUnexpected, // a script runs
	"MISCONF":       ErrUnexpected, // the RDB cannot be written
	"MASTERDOWN":    ErrUnexpected,
	"NOREPLICAS":    ErrUnexpected,
	"OOM":           ErrUnexpected,
	"NOMASTERLINK":  ErrUnexpected, // a replica whose own copy is not complete
}

// textClasses is parts of general errors, in lower case; the first match counts. What matches none was
// refused for what it contains.
var textClasses = []struct {
	part  string
	class error
}{
	{"auth <password> called without any password", ErrAuth},
	{"max number of clients", ErrTooManyClients},
	{"no such master", ErrNoSuchMonitor},
	{"no such primary", ErrNoSuchMonitor},
	{"duplicate master", ErrDuplicateMonitor},
	{"duplicate primary", ErrDuplicateMonitor},
	{"failover already in progress", ErrInProgress},
	{"failing over", ErrInProgress},
	{"failover requires connected replicas", ErrNoGoodReplica},
	{"target host and port is not a replica", ErrNoGoodReplica},
	{"target replica is not online", ErrNoGoodReplica},
	{"not valid when server is a replica", ErrReadOnly},
	{"", ErrInvalid},
}

func classOfAnswer(text string) error {
	code, _, _ := strings.Cut(text, " ")
	if class, known := codeClasses[code]; known {
		return class
	}
	lower := strings.ToLower(text)
	for _, known := range textClasses {
		if strings.Contains(lower, known.part) {
			return known.class
		}
	}
	return ErrUnexpected
}

// maxErrorText bounds what of a server's words goes into an error, in bytes.
const maxErrorText = 300

// redact takes secrets and control characters out of a text and bounds it.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxErrorText {
		text = strings.ToValidUTF8(text[:maxErrorText], "") + "..."
	}
	return text
}
