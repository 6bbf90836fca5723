// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestUserLine(t *testing.T) {
	hash := valkeyconf.HashPassword("secret")
	for name, c := range map[string]struct {
		user valkeyconf.User
		want string
	}{
		"nothing":    {valkeyconf.User{Name: "a"}, "user a off sanitize-payload resetchannels"},
		"on":         {valkeyconf.User{Name: "a", Enabled: true, NoPass: true}, "user a on sanitize-payload nopass resetchannels"},
		"passwords":  {valkeyconf.User{Name: "a", PasswordHashes: []string{hash, strings.ToUpper(hash)}}, "user a off sanitize-payload #" + hash + " #" + hash + " resetchannels"},
		"everything": {valkeyconf.User{Name: "a", Rules: []string{"~a:*", "%R~b", "&c", "+@all", "-flushall", "(~d +get)"}}, "user a off sanitize-payload resetchannels ~a:* %R~b &c +@all -flushall (~d +get)"},
	} {
		if got, err := c.user.Line(); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestUserLineRefuses(t *testing.T) {
	for name, user := range map[string]valkeyconf.User{
		"no name":           {},
		"blank in name":     {Name: "a b"},
		"newline in name":   {Name: "a\nuser b"},
		"NUL in name":       {Name: "a\x00"},
		"short hash":        {Name: "a", PasswordHashes: []string{"abc"}},
		"hash with newline": {Name: "a", PasswordHashes: []string{strings.Repeat("a", 63) + "\n"}},
		"empty rule":        {Name: "a", Rules: []string{""}},
		"two rules in one":  {Name: "a", Rules: []string{"~a ~b"}},
		"newline in rule":   {Name: "a", Rules: []string{"~a\nuser b on nopass +@all"}},
		"password in rules": {Name: "a", Rules: []string{">geheim"}},
		"hash in rules":     {Name: "a", Rules: []string{"#" + valkeyconf.HashPassword("x")}},
		"nopass in rules":   {Name: "a", Rules: []string{"NOPASS"}},
		"on in rules":       {Name: "a", Rules: []string{"on"}},
		"reset in rules":    {Name: "a", Rules: []string{"reset"}},
		"open selector":     {Name: "a", Rules: []string{"(+get"}},
		"empty selector":    {Name: "a", Rules: []string{"()"}},
		"nested selector":   {Name: "a", Rules: []string{"((+get))"}},
		"selector newline":  {Name: "a", Rules: []string{"(+get\n)"}},
		"blank in selector": {Name: "a", Rules: []string{"(+get  ~a)"}},
	} {
		line, err := user.Line()
		if err == nil || line != "" {
			t.Errorf("%s: rendered %q", name, line)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}

func TestRenderACLRefusesTwins(t *testing.T) {
	if text, err := valkeyconf.RenderACL([]valkeyconf.User{{Name: "a"}, {Name: "a"}}); err == nil {
		t.Errorf("rendered %q", text)
	}
}

func TestParseACL(t *testing.T) {
	users := []valkeyconf.User{
		valkeyconf.OpenNodeDefault(),
		{Name: "a", Enabled: true, PasswordHashes: []string{valkeyconf.HashPassword("x")}, Rules: []string{"~a", "(+get ~b)", "&c"}},
	}
	text, err := valkeyconf.RenderACL(users)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := valkeyconf.ParseACL("# comment\n\n" + text)
	if err != nil || !reflect.DeepEqual(parsed, users) {
		t.Errorf("%+v, %v", parsed, err)
	}
	for _, bad := range []string{"user", "users a on", "user a >password"} {
		if _, err := valkeyconf.ParseACL(bad); err == nil || strings.Contains(err.Error(), "password\"") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestEverySystemUserHasRules(t *testing.T) {
	for _, name := range naming.SystemUsers() {
		if _, known := valkeyconf.NodeUser(name); !known {
			t.Errorf("no rules for %s on data nodes", name)
		}
	}
	for _, name := range naming.SentinelSystemUsers() {
		if _, known := valkeyconf.SentinelUser(name); !known {
			t.Errorf("no rules for %s on Sentinels", name)
		}
	}
	if _, known := valkeyconf.NodeUser("somebody"); known {
		t.Error("rules for a stranger")
	}
}

// Whatever the rule, it is refused or stays in its line and is read back the same.
func FuzzUserLine(f *testing.F) {
	for _, seed := range []string{"~a", "+get", "(+get ~b)", "a b", "a\nb", "(", ">x", "&\x00", "%RW~x", "~(", "\u00a0", "\u0085", "()"} {
		f.Add("a", seed)
	}
	f.Fuzz(func(t *testing.T, name, rule string) {
		user := valkeyconf.User{Name: name, Enabled: true, Rules: []string{rule}}
		text, err := valkeyconf.RenderACL([]valkeyconf.User{user})
		if err != nil {
			return
		}
		if strings.Count(text, "\n") != 1 {
			t.Fatalf("more than one line: %q", text)
		}
		parsed, err := valkeyconf.ParseACL(text)
		if err != nil || len(parsed) != 1 || parsed[0].Name != name {
			t.Fatalf("%q read back as %+v, %v", text, parsed, err)
		}
		if rule != "resetchannels" && rule != "sanitize-payload" && !reflect.DeepEqual(parsed[0], user) {
			t.Fatalf("%q read back as %+v", text, parsed)
		}
	})
}
