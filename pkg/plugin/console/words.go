// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"strconv"
	"strings"
)

// ErrQuotes is that the quotes of a line do not match.
var ErrQuotes = errors.New("unbalanced quotes")

// Words splits a line as valkey-cli does: "double" quotes with \n, \r, \t, \a, \b, \", \\ and \xHH, 'single' ones with \', and blanks between words.
func Words(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " \t\r\n"); line != ""; line = strings.TrimLeft(line, " \t\r\n") {
		word, rest, err := nextWord(line)
		if err != nil {
			return nil, err
		}
		words, line = append(words, word), rest
	}
	return words, nil
}

func nextWord(line string) (word, rest string, err error) {
	var text strings.Builder
	for line != "" {
		switch c := line[0]; c {
		case ' ', '\t', '\r', '\n':
			return text.String(), line, nil
		case '"', '\'':
			quoted, after, err := quotedPart(line[1:], c)
			if err != nil {
				return "", "", err
			}
			if after != "" && !strings.ContainsRune(" \t\r\n", rune(after[0])) {
				return "", "", ErrQuotes // something follows the closing quote at once
			}
			text.WriteString(quoted)
			line = after
		default:
			text.WriteByte(c)
			line = line[1:]
		}
	}
	return text.String(), "", nil
}

func quotedPart(line string, quote byte) (text, rest string, err error) {
	var part strings.Builder
	for line != "" {
		switch {
		case line[0] == quote:
			return part.String(), line[1:], nil
		case line[0] != '\\' || len(line) == 1:
			part.WriteByte(line[0])
			line = line[1:]
		case quote == '\'':
			if line[1] != '\'' {
				part.WriteByte('\\')
				line = line[1:]
				continue
			}
			part.WriteByte('\'')
			line = line[2:]
		default:
			c, length := escaped(line)
			part.WriteByte(c)
			line = line[length:]
		}
	}
	return "", "", ErrQuotes
}

// escaped is the byte that a line which begins with a backslash stands for, and how much of the line that takes.
func escaped(line string) (c byte, length int) {
	if line[1] == 'x' && len(line) >= 4 {
		if value, err := strconv.ParseUint(line[2:4], 16, 8); err == nil {
			return byte(value), 4
		}
	}
	if at := strings.IndexByte("nrtab", line[1]); at >= 0 {
		return "\n\r\t\a\b"[at], 2
	}
	return line[1], 2
}
