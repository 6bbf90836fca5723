// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Link is the connection to a server.
type Link interface {
	Send(words ...string) error
	Receive() (valkeyclient.Reply, error)
}

// ErrAnswered is that the server answered a command with an error, which has been printed.
var ErrAnswered = errors.New("the server answered with an error")

// Console is one session.
type Console struct {
	Link Link
	Out  io.Writer
	// Print makes a text of an answer: Raw or Formatted.
	Print func(valkeyclient.Reply) string
}

// Once sends one command and prints its answer, or all that comes until the connection ends if the command asks for a stream.
func (c Console) Once(words []string) error {
	if err := c.Link.Send(words...); err != nil {
		return err
	}
	for {
		reply, err := c.Link.Receive()
		if err != nil {
			return err
		}
		text := c.Print(reply)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(c.Out, text); err != nil {
			return err
		}
		if reply.Kind == valkeyclient.ReplyError {
			return ErrAnswered
		}
		if !streams(words[0]) {
			return nil
		}
	}
}

// streams tells whether a command makes the server send without being asked.
func streams(command string) bool {
	switch strings.ToUpper(command) {
	case "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "MONITOR":
		return true
	}
	return false
}

// Lines is where commands come from. io.EOF ends the session.
type Lines interface{ ReadLine() (string, error) }

// Run reads commands and prints their answers until there are no more, or the person says quit. Errors of the server go on; with them the
// session ends as ErrAnswered if strict, at once.
func (c Console) Run(lines Lines, strict bool) error {
	for {
		line, err := lines.ReadLine()
		if errors.Is(err, io.EOF) && strings.TrimSpace(line) == "" {
			return nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		words, wordsErr := Words(line)
		switch {
		case wordsErr != nil:
			_, _ = fmt.Fprintln(c.Out, wordsErr)
			if strict {
				return ErrAnswered
			}
		case len(words) == 0:
		case strings.EqualFold(words[0], "quit") || strings.EqualFold(words[0], "exit"):
			return nil
		default:
			if err := c.Once(words); err != nil && (strict || !errors.Is(err, ErrAnswered)) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}
