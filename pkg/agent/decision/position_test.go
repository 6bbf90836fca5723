// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestCompare(t *testing.T) {
	whole := func(p Position) Position { p.Whole = true; return p }
	opposite := map[Order]Order{Ahead: Behind, Behind: Ahead, Same: Same, Unrelated: Unrelated}
	for name, test := range map[string]struct {
		a, b Position
		want Order
	}{
		"equal":                          {onA(5), onA(5), Same},
		"further":                        {onA(6), onA(5), Ahead},
		"a branch that was left":         {onA(99), onB(1), Behind},
		"two branches ago":               {onA(99), onC(1), Behind},
		"strangers":                      {onA(5), stranger(9), Unrelated},
		"not known":                      {Position{}, onA(5), Unrelated},
		"nothing known":                  {Position{}, Position{}, Unrelated},
		"each has left the other's":      {Position{ReplID: "A", History: []string{"B"}}, Position{ReplID: "B", History: []string{"A"}}, Unrelated},
		"the primary's whole copy":       {whole(onA(5)), onA(6), Ahead},
		"both whole":                     {whole(onA(5)), whole(onA(6)), Behind},
		"whole, of a branch that's left": {whole(onA(99)), onB(1), Behind},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.a.Compare(test.b); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if got := test.b.Compare(test.a); got != opposite[test.want] {
				t.Errorf("the other way round: got %d", got)
			}
		})
	}
}

func TestMovedTo(t *testing.T) {
	when := time.Unix(9, 0)
	p := Position{}.MovedTo("A", 1, when).MovedTo("A", 2, when).MovedTo("B", 3, when).MovedTo("C", 4, when, "X", "B")
	if p.ReplID != "C" || p.Offset != 4 || !p.When.Equal(when) || !slices.Equal(p.History, []string{"A", "X", "B"}) {
		t.Errorf("got %+v", p)
	}
	// Back in a history it is not one that was left.
	if p = p.MovedTo("A", 5, when); slices.Contains(p.History, "A") || !slices.Contains(p.History, "C") {
		t.Errorf("back in A: %+v", p)
	}
	for i := range 3 * maxHistory {
		p = p.MovedTo(fmt.Sprint(i), 1, when)
	}
	if len(p.History) != maxHistory || p.History[maxHistory-1] != fmt.Sprint(3*maxHistory-2) {
		t.Errorf("%d histories, the last is %s", len(p.History), p.History[len(p.History)-1])
	}
}
