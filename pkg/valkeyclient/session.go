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
	// maxReplyLine bounds a line of an answer, maxReplyText a text in it (the server's own limit), maxReplyItems a list.
	maxReplyLine  = 64 << 10
	maxReplyText  = 512 << 20
	maxReplyItems = 64 << 20
	maxReplyDepth = 64
)

// ReplyKind says what an answer is.
type ReplyKind int

// The kinds of answers.
const (
	ReplyNil ReplyKind = iota
	ReplyStatus
	ReplyError
	ReplyInteger
	ReplyText
	ReplyList
)

// Reply is one answer, as the server sent it.
type Reply struct {
	Kind ReplyKind
	// Text of a status, an error or a text; of an integer its digits.
	Text string
	// Items of a list.
	Items []Reply
}

// Session is one connection on which a person talks to a server: what is sent goes out as it is, and what comes is handed on in order, whether
// it was asked for or not. It knows nothing of what commands mean. One goroutine may send while another receives.
type Session struct {
	link

	ctx        context.Context //nolint:containedctx // the caller's, which bounds the session that outlives the call
	connection net.Conn
	reader     *bufio.Reader
	detach     func() bool
}

// Session connects and logs in. Close it; ctx ends it too.
func (c *Client) Session(ctx context.Context, target Target) (*Session, error) {
	if err := c.check(target); err != nil {
		return nil, err
	}
	s := &Session{ctx: ctx, link: link{client: c, target: target}}
	raw, err := c.options.connect(ctx, target)
	if err != nil {
		return nil, s.fail(err)
	}
	s.connection, s.reader = raw, bufio.NewReaderSize(raw, maxReplyLine)
	s.detach = context.AfterFunc(ctx, func() { _ = raw.Close() })
	if err := s.login(); err != nil {
		_ = s.Close()
		return nil, s.fail(err)
	}
	return s, nil
}

func (s *Session) fail(err error) error { return s.failure(s.ctx, query("AUTH"), err) }

func (s *Session) login() error {
	credentials := s.target.Credentials
	if credentials.Password == "" {
		return nil
	}
	user := credentials.Username
	if user == "" {
		user = "default"
	}
	if err := s.connection.SetDeadline(time.Now().Add(s.client.options.CallTimeout)); err != nil {
		return err
	}
	if err := s.Send("AUTH", user, credentials.Password); err != nil {
		return err
	}
	reply, err := s.Receive()
	if err != nil {
		return err
	}
	if reply.Kind == ReplyError {
		text := redact(reply.Text, []string{credentials.Password})
		return &callError{class: classOfAnswer(text), op: "AUTH", target: s.target.String(), text: text}
	}
	return s.connection.SetDeadline(time.Time{})
}

// Send sends one command.
func (s *Session) Send(words ...string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	_, err := io.WriteString(s.connection, text.String())
	return err
}

// Receive waits for the next answer. io.EOF: the server has hung up.
func (s *Session) Receive() (Reply, error) { return s.receive(0) }

func (s *Session) receive(depth int) (Reply, error) {
	line, err := s.line()
	if err != nil {
		return Reply{}, err
	}
	if line == "" || depth > maxReplyDepth {
		return Reply{}, fmt.Errorf("%w: an answer that begins with %.20q", ErrUnexpected, line)
	}
	text := line[1:]
	switch line[0] {
	case '+':
		return Reply{Kind: ReplyStatus, Text: text}, nil
	case '-':
		return Reply{Kind: ReplyError, Text: text}, nil
	case ':':
		return Reply{Kind: ReplyInteger, Text: text}, nil
	case '$':
		return s.text(text)
	case '*':
		return s.list(text, depth)
	}
	return Reply{}, fmt.Errorf("%w: an answer that begins with %.20q", ErrUnexpected, line)
}

func (s *Session) line() (string, error) {
	line, err := s.reader.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: a line without an end", ErrUnexpected)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(string(line), "\r\n"), nil
}

func (s *Session) text(announced string) (Reply, error) {
	length, err := lengthOf(announced, maxReplyText)
	if err != nil || length < 0 {
		return Reply{}, err
	}
	content := make([]byte, length+2)
	if _, err := io.ReadFull(s.reader, content); err != nil {
		return Reply{}, err
	}
	return Reply{Kind: ReplyText, Text: string(content[:length])}, nil
}

func (s *Session) list(announced string, depth int) (Reply, error) {
	length, err := lengthOf(announced, maxReplyItems)
	if err != nil || length < 0 {
		return Reply{}, err
	}
	reply := Reply{Kind: ReplyList}
	for range length {
		item, err := s.receive(depth + 1)
		if err != nil {
			return Reply{}, err
		}
		reply.Items = append(reply.Items, item)
	}
	return reply, nil
}

// lengthOf is -1 for what is not there.
func lengthOf(text string, most int) (int, error) {
	length, err := strconv.Atoi(text)
	if err != nil || length < -1 || length > most {
		return 0, fmt.Errorf("%w: a length of %.20q", ErrUnexpected, text)
	}
	return length, nil
}

// Close ends the session.
func (s *Session) Close() error {
	s.detach()
	return s.connection.Close()
}
