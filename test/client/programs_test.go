// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestListen(t *testing.T) {
	for name, c := range map[string]struct {
		said         string
		acknowledged int
		wrong        string
	}{
		"writes, and what was read back":  {"ok a 1000\nno b 1100 ERR no such thing\nok c 1500\nread 2\n", 2, ""},
		"no last line":                    {"ok a 1000\n", 1, "it did not say"},
		"a line after the last":           {"ok a 1000\nread 1\nok b 1001\n", 1, "a line after the last"},
		"no time":                         {"ok a\nread 1\n", 0, "not understood"},
		"a time that is none":             {"ok a b\nread 1\n", 0, "not understood"},
		"a failure that says nothing":     {"no a 1000\nread 0\n", 0, "not understood"},
		"something else on the output":    {"hello, I am a library\nread 0\n", 0, "not understood"},
		"a count that is none":            {"read many\n", 0, "invalid syntax"},
		"an acknowledgement with a cause": {"ok a 1000 because\nread 1\n", 0, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			b := &book{seen: map[string]bool{}}
			err := b.listen(strings.NewReader(c.said))
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("error %v, want one with %q", err, c.wrong)
			}
			if b.Acknowledged != c.acknowledged {
				t.Errorf("%d acknowledged, want %d", b.Acknowledged, c.acknowledged)
			}
		})
	}
}

func TestAProgramsTimesMakeTheGap(t *testing.T) {
	b := &book{seen: map[string]bool{}}
	if err := b.listen(strings.NewReader("ok a 1000\nok b 1300\nno c 1400 READONLY no\nok d 1450\nread 3\n")); err != nil {
		t.Fatal(err)
	}
	if b.MaxGapMillis != 300 || b.ReadOnly != 1 || b.ReadBack != 3 {
		t.Errorf("%+v", b.summary)
	}
}

func TestFollow(t *testing.T) {
	for name, c := range map[string]struct{ script, wrong string }{
		"waits for the end of its input": {`read -r task; echo "ok a 1000"; cat >/dev/null; echo "read 1"`, ""},
		"ends too early":                 {`read -r task; echo "ok a 1000"; echo "read 1"`, "ended before it was told to"},
		"fails":                          {`read -r task; cat >/dev/null; echo "read 0"; exit 3`, "exit status 3"},
		"says nothing":                   {`cat >/dev/null`, "it did not say"},
		"got no task":                    {`read -r task; case $task in *'"prefix":"p"'*) cat >/dev/null; echo "read 0";; *) exit 4;; esac`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(script, []byte("#!/bin/sh\n"+c.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			b := &book{seen: map[string]bool{}}
			err := b.follow(ctx, order{program: script, prefix: "p", length: time.Minute})
			if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("error %v, want one with %q", err, c.wrong)
			}
		})
	}
}
