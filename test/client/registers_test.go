// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	type op struct {
		value, old   string
		err          error
		began, ended int
	}
	lost := errors.New("i/o timeout")
	for name, c := range map[string]struct {
		ops  []op
		want string
	}{
		"one after the other":                      {[]op{{"a", "", nil, 0, 1}, {"b", "a", nil, 2, 3}}, "linearizable"},
		"at the same time, in the other order":     {[]op{{"a", "b", nil, 0, 5}, {"b", "", nil, 1, 4}}, "linearizable"},
		"an acknowledged write is lost":            {[]op{{"a", "", nil, 0, 1}, {"b", "", nil, 2, 3}}, "violated"},
		"two primaries replace one value":          {[]op{{"a", "", nil, 0, 1}, {"b", "a", nil, 2, 3}, {"c", "a", nil, 2, 3}}, "violated"},
		"no answer, and done":                      {[]op{{"a", "", lost, 0, 1}, {"b", "a", nil, 2, 3}}, "linearizable"},
		"no answer, and not done":                  {[]op{{"a", "", lost, 0, 1}, {"b", "", nil, 2, 3}}, "linearizable"},
		"no answer, and done much later":           {[]op{{"a", "", lost, 0, 1}, {"b", "", nil, 2, 3}, {"c", "a", nil, 8, 9}}, "linearizable"},
		"a value comes back that was replaced":     {[]op{{"a", "", nil, 0, 1}, {"b", "a", nil, 2, 3}, {"c", "b", nil, 4, 5}, {"d", "b", nil, 6, 7}}, "violated"},
		"an answer that was only true later on is": {[]op{{"b", "a", nil, 0, 1}, {"a", "", nil, 2, 3}}, "violated"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory("t")
			for i, o := range c.ops {
				h.note(i, swap{"r", o.value}, o.old, o.err, time.Duration(o.began), time.Duration(o.ended))
			}
			if got := h.judge(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
