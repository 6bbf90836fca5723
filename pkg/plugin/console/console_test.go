// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                       nil,
		"  PING \n":              {"PING"},
		`SET k "a b"`:            {"SET", "k", "a b"},
		`SET k "\x41\n\"\\\q"`:   {"SET", "k", "A\n\"\\q"},
		`SET k 'it\'s "so" \n'`:  {"SET", "k", `it's "so" \n`},
		`SET k ""`:               {"SET", "k", ""},
		`SET k pre"fix"`:         {"SET", "k", "prefix"},
		`SET k "unfinished`:      nil,
		`SET k "a"b`:             nil,
		"GET caf\u00e9":          {"GET", "caf\u00e9"},
		"\tECHO\t\x00binary\x00": {"ECHO", "\x00binary\x00"},
	} {
		got, err := Words(line)
		if !slices.Equal(got, want) || (want == nil && strings.TrimSpace(line) != "") != errors.Is(err, ErrQuotes) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

func text(s string) valkeyclient.Reply {
	return valkeyclient.Reply{Kind: valkeyclient.ReplyText, Text: s}
}

func TestAnswersLookLikeThoseOfValkeyCLI(t *testing.T) {
	nested := valkeyclient.Reply{Kind: valkeyclient.ReplyList, Items: []valkeyclient.Reply{
		text("a\x1b\"\n"), {Kind: valkeyclient.ReplyInteger, Text: "7"}, {},
		{Kind: valkeyclient.ReplyList, Items: []valkeyclient.Reply{text("x"), text("y")}}, {Kind: valkeyclient.ReplyList},
	}}
	want := `1) "a\x1b\"\n"
2) (integer) 7
3) (nil)
4) 1) "x"
   2) "y"
5) (empty array)`
	if got := Formatted(nested); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := Raw(nested); got != "a\x1b\"\n\n7\n\nx\ny\n" {
		t.Errorf("raw %q", got)
	}
	if got := Formatted(valkeyclient.Reply{Kind: valkeyclient.ReplyError, Text: "ERR \x1b[2J no"}); got != "(error) ERR  [2J no" {
		t.Errorf("got %q", got)
	}
	if got := Formatted(valkeyclient.Reply{Kind: valkeyclient.ReplyStatus, Text: "OK"}); got != "OK" {
		t.Errorf("got %q", got)
	}
}

// scripted answers each command by its first word.
type scripted struct {
	answers map[string][]valkeyclient.Reply
	next    []valkeyclient.Reply
	sent    []string
}

func (s *scripted) Send(words ...string) error {
	s.sent = append(s.sent, strings.Join(words, " "))
	s.next = s.answers[words[0]]
	return nil
}

func (s *scripted) Receive() (valkeyclient.Reply, error) {
	if len(s.next) == 0 {
		return valkeyclient.Reply{}, io.ErrUnexpectedEOF
	}
	reply := s.next[0]
	s.next = s.next[1:]
	return reply, nil
}

type scanned struct{ *bufio.Reader }

func (s scanned) ReadLine() (string, error) { return s.ReadString('\n') }

func TestSessions(t *testing.T) {
	ok := []valkeyclient.Reply{{Kind: valkeyclient.ReplyStatus, Text: "OK"}}
	answers := map[string][]valkeyclient.Reply{
		"SET": ok, "BAD": {{Kind: valkeyclient.ReplyError, Text: "ERR no"}}, "SUBSCRIBE": {text("one"), text("two")},
	}
	for name, c := range map[string]struct {
		typed  string
		strict bool
		want   string
		sent   int
		err    error
	}{
		"until the end":       {"SET a 1\n\nSET b 2", false, "OK\nOK\n", 2, nil},
		"until quit":          {"SET a 1\nQUIT\nSET b 2\n", false, "OK\n", 1, nil},
		"past errors":         {"BAD\n\"\nSET a 1\n", false, "(error) ERR no\nunbalanced quotes\nOK\n", 2, nil},
		"strict":              {"BAD\nSET a 1\n", true, "(error) ERR no\n", 1, ErrAnswered},
		"strict about quotes": {"SET \"\nSET a 1\n", true, "unbalanced quotes\n", 0, ErrAnswered},
		"a stream, cut off":   {"subscribe", false, "", 1, io.ErrUnexpectedEOF},
		"a stream":            {"SUBSCRIBE news\n", false, "\"one\"\n\"two\"\n", 1, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			link, out := &scripted{answers: answers}, &strings.Builder{}
			err := Console{Link: link, Out: out, Print: Formatted}.Run(scanned{bufio.NewReader(strings.NewReader(c.typed))}, c.strict)
			if out.String() != c.want || len(link.sent) != c.sent || !errors.Is(err, c.err) {
				t.Errorf("printed %q, sent %q, %v", out, link.sent, err)
			}
		})
	}
}
