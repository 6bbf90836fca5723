// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"fmt"
	"strings"
)

// Directive is one line of valkey.conf or sentinel.conf: a name and its arguments, unquoted.
type Directive struct {
	Name string
	Args []string
}

// D makes a Directive.
func D(name string, args ...string) Directive { return Directive{Name: name, Args: args} }

// Value is the arguments as CONFIG SET takes them: one string.
func (d Directive) Value() string { return strings.Join(d.Args, " ") }

// Config is a configuration file: its directives in order. Of a directive that may stand only once, the server takes
// the last.
type Config []Directive

// Render is the file's text, one directive a line. It fails, and renders nothing, if a name is none or an argument holds
// a newline, carriage return or NUL: no value ever leaves its line.
func (c Config) Render() (string, error) {
	var text strings.Builder
	for _, directive := range c {
		line, err := directive.line()
		if err != nil {
			return "", err
		}
		text.WriteString(line)
		text.WriteByte('\n')
	}
	return text.String(), nil
}

func (d Directive) line() (string, error) {
	if !isName(d.Name) {
		return "", fmt.Errorf("directive name %q: only letters, digits and \"-\" may stand in it", d.Name)
	}
	words := []string{d.Name}
	for _, arg := range d.Args {
		if strings.ContainsAny(arg, "\n\r\x00") {
			return "", fmt.Errorf("directive %q: a value with a newline or NUL", d.Name) // the value may be secret
		}
		words = append(words, quote(arg))
	}
	return strings.Join(words, " "), nil
}

func isName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return !isLetter(r) && !isDigit(r) && r != '-' })
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// quote writes an argument so that the server's sdssplitargs (sds.c) reads it back byte by byte.
func quote(arg string) string {
	plain := arg != "" && !strings.ContainsFunc(arg, func(r rune) bool {
		return !isLetter(r) && !isDigit(r) && !strings.ContainsRune("-_./:@%+,*=~^&!?|<>[]()#$;{}", r)
	})
	if plain {
		return arg
	}
	var quoted strings.Builder
	quoted.WriteByte('"')
	for i := range len(arg) {
		switch b := arg[i]; {
		case b == '"' || b == '\\':
			quoted.WriteByte('\\')
			quoted.WriteByte(b)
		case b < ' ' || b >= 0x7f:
			fmt.Fprintf(&quoted, `\x%02x`, b)
		default:
			quoted.WriteByte(b)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// Parse reads a configuration file as the server does. Comments and blank lines are dropped.
func Parse(text string) (Config, error) {
	var config Config
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		words, err := splitArgs(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err) // the line may be secret
		}
		if len(words) > 0 {
			config = append(config, Directive{Name: words[0], Args: words[1:]})
		}
	}
	return config, nil
}

// Last is the last directive of the name, in whatever case or spelling (see Canonical).
func (c Config) Last(name string) (Directive, bool) {
	for i := len(c) - 1; i >= 0; i-- {
		if Canonical(c[i].Name) == Canonical(name) {
			return c[i], true
		}
	}
	return Directive{}, false
}

// Canonical is a key in lower case and in the newer spelling: "slave" is "replica", "master" is "primary". Two keys mean
// the same to the server if, and with few exceptions only if, their canonical forms are equal.
func Canonical(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	return strings.NewReplacer("slave", "replica", "master", "primary").Replace(key)
}
