// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Raw is an answer for programs: texts as they are, a list's items a line each.
func Raw(reply valkeyclient.Reply) string {
	if reply.Kind != valkeyclient.ReplyList {
		return reply.Text
	}
	lines := make([]string, 0, len(reply.Items))
	for _, item := range reply.Items {
		lines = append(lines, Raw(item))
	}
	return strings.Join(lines, "\n")
}

// Formatted is an answer for people.
func Formatted(reply valkeyclient.Reply) string { return formatted(reply, "") }

func formatted(reply valkeyclient.Reply, indent string) string {
	switch reply.Kind {
	case valkeyclient.ReplyNil:
		return "(nil)"
	case valkeyclient.ReplyError:
		return "(error) " + printable(reply.Text)
	case valkeyclient.ReplyInteger:
		return "(integer) " + reply.Text
	case valkeyclient.ReplyText:
		return quoted(reply.Text)
	case valkeyclient.ReplyList:
		return list(reply.Items, indent)
	}
	return printable(reply.Text)
}

func list(items []valkeyclient.Reply, indent string) string {
	if len(items) == 0 {
		return "(empty array)"
	}
	width := len(fmt.Sprint(len(items)))
	deeper := indent + strings.Repeat(" ", width+2)
	var text strings.Builder
	for i, item := range items {
		if i > 0 {
			text.WriteString("\n" + indent)
		}
		fmt.Fprintf(&text, "%*d) %s", width, i+1, formatted(item, deeper))
	}
	return text.String()
}

// quoted is a text in quotes, with what is not printable ASCII as \xHH.
func quoted(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b.Write([]byte{'\\', c})
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// printable keeps a server from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}
