// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	// snapshotBegin is how long it may take, with signs of life, until it begins to send.
	snapshotBegin = 10 * time.Minute
	// maxLine bounds a line that a server sends.
	maxLine = 4 << 10
)

// Snapshot makes the server at the target send its dataset as an RDB, and returns when that begins. The user needs +sync and
// +replconf. For the server and the Sentinels the connection is no replica: REPLCONF rdb-only.
//
// What is read is the RDB file, byte for byte. io.EOF means that all of it has come and that its checksum holds; a server that
// dies or is silent for Options.SnapshotPatience, a broken checksum, or the end of ctx is another error, and then the last bytes are never returned.
// Close it; ctx ends it too.
func (c *Client) Snapshot(ctx context.Context, target Target) (io.ReadCloser, error) {
	if err := c.check(target); err != nil {
		return nil, err
	}
	s := &snapshot{ctx: ctx, link: link{client: c, target: target}}
	raw, err := c.options.connect(ctx, target)
	if err != nil {
		return nil, s.fail(err)
	}
	s.connection, s.reader = raw, bufio.NewReaderSize(raw, 64<<10)
	s.detach = context.AfterFunc(ctx, func() { _ = raw.Close() })
	if err := s.begin(); err != nil {
		_ = s.Close()
		return nil, s.fail(err)
	}
	return s, nil
}

// snapshot is an RDB on its way.
type snapshot struct {
	link

	ctx        context.Context //nolint:containedctx // the caller's, which bounds the stream that outlives the call
	connection net.Conn
	reader     *bufio.Reader
	detach     func() bool

	frame frame
	// ready is what may be returned; buffer is where it lies.
	ready, buffer []byte
	err           error
}

func (s *snapshot) fail(err error) error { return s.failure(s.ctx, query("SYNC"), err) }

// Close ends the transfer.
func (s *snapshot) Close() error {
	s.detach()
	return s.connection.Close()
}

// Read is io.Reader's.
func (s *snapshot) Read(into []byte) (int, error) {
	for len(s.ready) == 0 && s.err == nil {
		s.ready, s.err = s.more()
	}
	if len(s.ready) == 0 {
		return 0, s.err
	}
	n := copy(into, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

// more receives some bytes and returns what may be passed on.
func (s *snapshot) more() ([]byte, error) {
	if s.buffer == nil {
		s.buffer = make([]byte, 64<<10)
	}
	if err := s.connection.SetReadDeadline(time.Now().Add(s.client.options.SnapshotPatience)); err != nil {
		return nil, s.fail(err)
	}
	n, err := s.reader.Read(s.buffer[:s.frame.atMost(len(s.buffer))])
	passed, whole, frameErr := s.frame.take(s.buffer[:n])
	switch {
	case frameErr != nil:
		return nil, s.fail(frameErr)
	case whole:
		return passed, io.EOF
	case errors.Is(err, io.EOF):
		return passed, s.fail(fmt.Errorf("the server hung up before the end of the dataset: %w", io.ErrUnexpectedEOF))
	case err != nil:
		return passed, s.fail(err)
	}
	return passed, nil
}

// begin logs in, asks, and waits until the server announces how it will send.
func (s *snapshot) begin() error {
	var commands [][]string
	if login := s.target.Credentials; login.Password != "" {
		user := login.Username
		if user == "" {
			user = "default"
		}
		commands = append(commands, []string{"AUTH", user, login.Password})
	}
	// With the first the server may send without a file on its disk; the second makes it hang up after the RDB.
	commands = append(commands, []string{"REPLCONF", "capa", "eof"}, []string{"REPLCONF", "rdb-only", "1"})
	for _, words := range commands {
		if err := s.send(words...); err != nil {
			return err
		}
		line, err := s.line()
		if err != nil {
			return err
		}
		if line != "+OK" {
			return s.refusal(line)
		}
	}
	if err := s.send("SYNC"); err != nil {
		return err
	}
	for deadline := time.Now().Add(snapshotBegin); time.Now().Before(deadline); {
		line, err := s.line()
		if err != nil {
			return err
		}
		if line == "" { // a sign of life
			continue
		}
		announced, isBulk := strings.CutPrefix(line, "$")
		if !isBulk {
			return s.refusal(line)
		}
		s.frame, err = newFrame(announced)
		return err
	}
	return context.DeadlineExceeded
}

func (s *snapshot) refusal(line string) error {
	text, isError := strings.CutPrefix(line, "-")
	if !isError {
		return fmt.Errorf("%w: %q", ErrUnexpected, line)
	}
	text = strings.TrimPrefix(text, "ERR ")
	return &callError{
		class: classOfAnswer(text), op: "SYNC", target: s.target.String(), text: redact(text, []string{s.target.Credentials.Password}),
	}
}

func (s *snapshot) send(words ...string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	if err := s.connection.SetWriteDeadline(time.Now().Add(s.client.options.CallTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(s.connection, text.String())
	return err
}

// line is the next line without its end.
func (s *snapshot) line() (string, error) {
	if err := s.connection.SetReadDeadline(time.Now().Add(s.client.options.SnapshotPatience)); err != nil {
		return "", err
	}
	line, err := s.reader.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	if len(line) > maxLine {
		return "", fmt.Errorf("%w: a line of %s bytes", ErrUnexpected, strconv.Itoa(len(line)))
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}
