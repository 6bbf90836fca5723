// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"errors"
	"strings"
)

var errQuotes = errors.New("unbalanced quotes")

// splitArgs is sdssplitargs of the server (sds.c): words separated by blanks; "double quotes" with the escapes \n \r \t
// \b \a \xHH and \c for any other c; 'single quotes' where only \' is an escape; a closing quote must end its word.
func splitArgs(line string) ([]string, error) {
	words := []string{}
	for rest := strings.TrimLeft(line, blanks); rest != ""; rest = strings.TrimLeft(rest, blanks) {
		word, after, err := splitWord(rest)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		rest = after
	}
	return words, nil
}

const blanks = " \t\n\v\f\r"

func splitWord(text string) (word, rest string, err error) {
	var read strings.Builder
	for i := 0; i < len(text); {
		switch b := text[i]; {
		case strings.IndexByte(blanks, b) >= 0:
			return read.String(), text[i:], nil
		case b == '"' || b == '\'':
			length, err := readQuoted(text[i:], &read)
			if err != nil {
				return "", "", err
			}
			rest := text[i+length:]
			if rest != "" && strings.IndexByte(blanks, rest[0]) < 0 {
				return "", "", errQuotes
			}
			return read.String(), rest, nil
		default:
			read.WriteByte(b)
			i++
		}
	}
	return read.String(), "", nil
}

// readQuoted reads from the opening to the closing quote and returns how many bytes that was.
func readQuoted(text string, read *strings.Builder) (int, error) {
	quoteMark := text[0]
	for i := 1; i < len(text); {
		if text[i] == quoteMark {
			return i + 1, nil
		}
		length := 1
		if text[i] == '\\' && i+1 < len(text) {
			var b byte
			if b, length = readEscape(text[i:], quoteMark); length > 1 {
				read.WriteByte(b)
				i += length
				continue
			}
		}
		read.WriteByte(text[i])
		i += length
	}
	return 0, errQuotes
}

// readEscape reads an escape at the start of text. A length of 1 says that the backslash stands for itself.
func readEscape(text string, quoteMark byte) (b byte, length int) {
	if quoteMark == '\'' {
		if text[1] == '\'' {
			return '\'', 2
		}
		return '\\', 1
	}
	if text[1] == 'x' && len(text) >= 4 {
		high, low := hexValue(text[2]), hexValue(text[3])
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), 4
		}
	}
	if at := strings.IndexByte("nrtba", text[1]); at >= 0 {
		return "\n\r\t\b\a"[at], 2
	}
	return text[1], 2
}

func hexValue(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
