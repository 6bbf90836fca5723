// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func TestRender(t *testing.T) {
	for name, c := range map[string]struct {
		directive valkeyconf.Directive
		want      string
	}{
		"plain":              {valkeyconf.D("maxmemory", "64mb"), "maxmemory 64mb\n"},
		"several arguments":  {valkeyconf.D("save", "3600", "1", "300", "100"), "save 3600 1 300 100\n"},
		"empty argument":     {valkeyconf.D("save", ""), "save \"\"\n"},
		"no argument":        {valkeyconf.D("appendonly"), "appendonly\n"},
		"blank":              {valkeyconf.D("proc-title-template", "{title} {port}"), "proc-title-template \"{title} {port}\"\n"},
		"quote, backslash":   {valkeyconf.D("masterauth", `a"b\c`), "masterauth \"a\\\"b\\\\c\"\n"},
		"single quote":       {valkeyconf.D("masterauth", `it's`), "masterauth \"it's\"\n"},
		"tab":                {valkeyconf.D("masterauth", "a\tb"), "masterauth \"a\\x09b\"\n"},
		"not ASCII":          {valkeyconf.D("masterauth", "é"), "masterauth \"\\xc3\\xa9\"\n"},
		"looks like comment": {valkeyconf.D("masterauth", "#x"), "masterauth #x\n"},
	} {
		got, err := valkeyconf.Config{c.directive}.Render()
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func TestRenderRefusesWhatLeavesItsLine(t *testing.T) {
	for _, bad := range []valkeyconf.Directive{
		valkeyconf.D("maxmemory", "1\nrequirepass x"), valkeyconf.D("maxmemory", "1\rx"), valkeyconf.D("maxmemory", "1\x00"),
		valkeyconf.D("maxmemory 1\nrequirepass", "x"), valkeyconf.D("", "x"), valkeyconf.D("# comment", "x"), valkeyconf.D("a b", "x"),
	} {
		got, err := valkeyconf.Config{valkeyconf.D("port", "1"), bad}.Render()
		if err == nil || got != "" {
			t.Errorf("%q was rendered as %q", bad, got)
		}
		if err != nil && strings.Contains(err.Error(), "requirepass x") {
			t.Errorf("the error shows the value: %v", err)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := valkeyconf.Parse("# comment\n\n  port 6379  \r\nsave \"\"\nmasterauth \"a\\x41\\n\\\"\" 'it\\'s' plain\n")
	want := valkeyconf.Config{
		valkeyconf.D("port", "6379"), valkeyconf.D("save", ""), valkeyconf.D("masterauth", "aA\n\"", "it's", "plain"),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{`masterauth "open`, `masterauth 'open`, `masterauth "a"b`} {
		_, err := valkeyconf.Parse("port 1\n" + bad)
		if err == nil || !strings.HasPrefix(err.Error(), "line 2") || strings.Contains(err.Error(), "open") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLastKnowsBothSpellings(t *testing.T) {
	config := valkeyconf.Config{valkeyconf.D("slave-priority", "1"), valkeyconf.D("Replica-Priority", "2"), valkeyconf.D("port", "3")}
	if got, found := config.Last("slave-priority"); !found || got.Value() != "2" {
		t.Errorf("%v, %t", got, found)
	}
	if _, found := config.Last("maxmemory"); found {
		t.Error("found what is not there")
	}
}

func TestHashKeepsPartsApart(t *testing.T) {
	if valkeyconf.Hash("ab", "c") == valkeyconf.Hash("a", "bc") || valkeyconf.Hash("a") == valkeyconf.Hash("a", "") {
		t.Error("different parts, same hash")
	}
	if hash := valkeyconf.Hash("a"); len(hash) != 32 || hash != valkeyconf.Hash("a") {
		t.Errorf("hash %q", hash)
	}
}

// What is rendered is read back the same, and is as many lines as directives, whatever the values.
func FuzzRenderParse(f *testing.F) {
	for _, seed := range []string{"64mb", "", "a b", `"`, `\`, "'", "\t\x01\xff", "é", "#", "a\nb", "\x00", `\x0a`, " a ", `a"b'c\`} {
		f.Add("masterauth", seed, "x")
	}
	f.Fuzz(func(t *testing.T, name, first, second string) {
		config := valkeyconf.Config{valkeyconf.D(name, first, second), valkeyconf.D("port", "1")}
		text, err := config.Render()
		if err != nil {
			return
		}
		if lines := strings.Count(text, "\n"); lines != 2 {
			t.Fatalf("%q is %d lines", text, lines)
		}
		parsed, err := valkeyconf.Parse(text)
		if err != nil || !reflect.DeepEqual(parsed, config) {
			t.Fatalf("%q was read back as %q, %v", config, parsed, err)
		}
	})
}

// Whatever the file, reading it does not panic, and what was read is rendered to the same again.
func FuzzParse(f *testing.F) {
	f.Add("port 1\nsave \"\"\nmasterauth 'a\\'b' \"\\x41\"\n# x\n")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := valkeyconf.Parse(text)
		if err != nil {
			return
		}
		rendered, err := config.Render()
		if err != nil {
			return
		}
		again, err := valkeyconf.Parse(rendered)
		if err != nil || len(again) != len(config) {
			t.Fatalf("%q became %q, %v", config, again, err)
		}
	})
}
