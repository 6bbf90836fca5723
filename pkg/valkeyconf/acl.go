// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// User is one line of an ACL file. The zero value besides Name is a user that is off and may do nothing.
type User struct {
	// Name without blanks, parentheses and control characters.
	Name    string
	Enabled bool
	// NoPass: any password, or none, logs in.
	NoPass bool
	// PasswordHashes are those that log in (HashPassword). Several are for the time of a rotation.
	PasswordHashes []string
	// Rules say what the user may do, in order: "~keys", "&channels", "+command", "-@category", "(selector)", ...
	Rules []string
}

// DefaultUser is what a connection is before it logs in.
const DefaultUser = "default"

// HashPassword is a password as ACL files hold it: SHA-256 in hexadecimal.
func HashPassword(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

// RenderACL is the ACL file of the users, in their order. It fails, and renders nothing, if a user cannot be written or
// two have one name.
func RenderACL(users []User) (string, error) {
	var text strings.Builder
	seen := map[string]bool{}
	for _, user := range users {
		line, err := user.Line()
		if err != nil {
			return "", err
		}
		if seen[user.Name] {
			return "", fmt.Errorf("user %q: declared twice", user.Name)
		}
		seen[user.Name] = true
		text.WriteString(line)
		text.WriteByte('\n')
	}
	return text.String(), nil
}

// Line is the user as one line without its end. The text of an error holds no password and no hash.
func (u User) Line() (string, error) {
	if u.Name == "" || !isACLWord(u.Name) || strings.ContainsAny(u.Name, "()") {
		return "", fmt.Errorf("user %q: not a name", u.Name)
	}
	words := []string{"user", u.Name, "off", "sanitize-payload"}
	if u.Enabled {
		words[2] = "on"
	}
	if u.NoPass {
		words = append(words, "nopass")
	}
	for _, hash := range u.PasswordHashes {
		if !isHash(hash) {
			return "", fmt.Errorf("user %q: a password hash is not 64 hexadecimal characters", u.Name)
		}
		words = append(words, "#"+strings.ToLower(hash))
	}
	words = append(words, "resetchannels")
	for _, rule := range u.Rules {
		if err := CheckRule(rule); err != nil {
			return "", fmt.Errorf("user %q: %w", u.Name, err)
		}
		words = append(words, rule)
	}
	return strings.Join(words, " "), nil
}

func isHash(text string) bool {
	return len(text) == 64 && !strings.ContainsFunc(text, func(r rune) bool { return r > 'f' || hexValue(byte(r)) < 0 })
}

// isACLWord: an ACL file is split at blanks and knows no quotes.
func isACLWord(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == 0x85 || r == 0xa0 })
}

var (
	errRuleEmpty    = errors.New("an empty rule")
	errRuleBlank    = errors.New("a rule with a blank or control character outside of a selector")
	errRulePassword = errors.New("a rule about passwords or whether the user is on: these have fields of their own")
	errRuleSelector = errors.New("a selector with unbalanced parentheses or empty words")
)

// CheckRule tells whether one rule can stand in a User: one word, or one "(selector of several words)", that says
// nothing about passwords or whether the user is on. Whether the server knows the command is not checked.
func CheckRule(rule string) error {
	switch {
	case rule == "":
		return errRuleEmpty
	case rule[0] == '(':
		return checkSelector(rule)
	case !isACLWord(rule), strings.ContainsAny(rule, "()") && rule[0] != '~' && rule[0] != '&' && rule[0] != '%':
		return errRuleBlank
	case strings.IndexByte("><#!", rule[0]) >= 0:
		return errRulePassword
	}
	switch strings.ToLower(rule) {
	case "on", "off", "nopass", "resetpass", "reset":
		return errRulePassword
	}
	return nil
}

func checkSelector(rule string) error {
	inner, ok := strings.CutSuffix(rule[1:], ")")
	if !ok || inner == "" {
		return errRuleSelector
	}
	for word := range strings.SplitSeq(inner, " ") {
		if word == "" || !isACLWord(word) || strings.ContainsAny(word, "()") {
			return errRuleSelector
		}
	}
	return nil
}

// ParseACL reads an ACL file. Of a user that has no say in it, whether it is on and its passwords, the zero value is kept.
func ParseACL(text string) ([]User, error) {
	var users []User
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		words := slices.DeleteFunc(strings.Split(line, " "), func(word string) bool { return word == "" })
		if len(words) < 2 || words[0] != "user" {
			return nil, fmt.Errorf("line %d: not \"user NAME rules...\"", number)
		}
		user := User{Name: words[1]}
		if err := user.read(words[2:]); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		users = append(users, user)
	}
	return users, nil
}

func (u *User) read(words []string) error {
	for len(words) > 0 {
		word := words[0]
		length := 1
		switch {
		case word == "on" || word == "off":
			u.Enabled = word == "on"
		case word == "nopass":
			u.NoPass = true
		case word[0] == '#':
			u.PasswordHashes = append(u.PasswordHashes, word[1:])
		case word == "resetchannels" || word == "sanitize-payload":
		case word[0] == '(':
			for length < len(words) && !strings.HasSuffix(words[length-1], ")") {
				length++
			}
			word = strings.Join(words[:length], " ")
			fallthrough
		default:
			if err := CheckRule(word); err != nil {
				return err
			}
			u.Rules = append(u.Rules, word)
		}
		words = words[length:]
	}
	return nil
}
