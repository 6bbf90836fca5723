// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/x509"
	"testing"
	"time"
)

var (
	testHosts = []string{"valkey-apiserver.valkey-system.svc", "valkey-apiserver.valkey-system.svc.cluster.local"}
	born      = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// issued is a state with a certificate in use since born, which is trusted.
func issued(t *testing.T) State {
	t.Helper()
	state := after(t, State{}, StepIssue, born)
	state.Trusted = state.Bundle
	return state
}

func after(t *testing.T, state State, step Step, now time.Time) State {
	t.Helper()
	pair, ca, err := issue(testHosts, now)
	if err != nil {
		t.Fatal(err)
	}
	return advance(state, step, pair, ca, now)
}

func TestDecide(t *testing.T) {
	other := issued(t)
	prepared := after(t, issued(t), StepPrepare, born.Add(60*24*time.Hour))
	trusted := prepared
	trusted.Trusted = prepared.Bundle
	promoted := after(t, trusted, StepPromote, born.Add(61*24*time.Hour))
	with := func(state State, change func(*State)) State {
		change(&state)
		return state
	}
	for name, tc := range map[string]struct {
		state State
		hosts []string
		age   time.Duration
		want  Step
	}{
		"nothing stored":                    {State{}, testHosts, 0, StepIssue},
		"fresh":                             {issued(t), testHosts, time.Hour, StepNone},
		"just before two thirds":            {issued(t), testHosts, 60*24*time.Hour - time.Minute, StepNone},
		"two thirds":                        {issued(t), testHosts, 60 * 24 * time.Hour, StepPrepare},
		"expired":                           {issued(t), testHosts, Lifetime, StepIssue},
		"garbage":                           {with(issued(t), func(s *State) { s.Current.Certificate = []byte("x") }), testHosts, time.Hour, StepIssue},
		"another key":                       {with(issued(t), func(s *State) { s.Current.Key = other.Current.Key }), testHosts, time.Hour, StepIssue},
		"another CA":                        {with(issued(t), func(s *State) { s.Bundle = other.Bundle }), testHosts, time.Hour, StepIssue},
		"no CA":                             {with(issued(t), func(s *State) { s.Bundle = nil }), testHosts, time.Hour, StepIssue},
		"another host":                      {issued(t), []string{"elsewhere.svc"}, time.Hour, StepPrepare},
		"asked for":                         {with(issued(t), func(s *State) { s.RotationAsked = true }), testHosts, time.Hour, StepPrepare},
		"prepared, not trusted yet":         {prepared, testHosts, 60*24*time.Hour + time.Hour, StepNone},
		"prepared and trusted for a moment": {trusted, testHosts, 60*24*time.Hour + time.Second, StepNone},
		"prepared and trusted":              {trusted, testHosts, 60*24*time.Hour + learnBundle, StepPromote},
		"prepared for other hosts":          {trusted, []string{"elsewhere.svc"}, 60*24*time.Hour + learnBundle, StepPrepare},
		"prepared long ago and forgotten":   {trusted, testHosts, 125 * 24 * time.Hour, StepIssue},
		"promoted a moment ago":             {promoted, testHosts, 61*24*time.Hour + time.Minute, StepNone},
		"promoted and served":               {promoted, testHosts, 61*24*time.Hour + learnCertificate, StepTrim},
	} {
		t.Run(name, func(t *testing.T) {
			if got, why := Decide(tc.state, tc.hosts, born.Add(tc.age)); got != tc.want {
				t.Errorf("step %q (%s), want %q", got, why, tc.want)
			}
		})
	}
}

func TestTrimLeavesTheCAInUse(t *testing.T) {
	state := after(t, issued(t), StepPrepare, born.Add(time.Hour))
	state.Trusted = state.Bundle
	state = after(t, state, StepPromote, born.Add(2*time.Hour))
	state = after(t, state, StepTrim, born.Add(3*time.Hour))
	left := authorities(state.Bundle)
	current, err := state.Current.leaf()
	if err != nil || len(left) != 1 || signerOf(current, left) == nil {
		t.Errorf("%d authorities are left, %v", len(left), err)
	}
}

func TestNoStepKeepsTheKeyOfACA(t *testing.T) {
	pair, ca, err := issue(testHosts, born)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := pair.leaf()
	if err != nil {
		t.Fatal(err)
	}
	if leaf.IsCA {
		t.Error("the stored key could sign certificates")
	}
	if found := authorities(ca); len(found) != 1 || !found[0].IsCA {
		t.Errorf("the bundle holds %v", found)
	}
}

// TestNoMomentOfARenewalIsUntrusted lives through a year with an aggregator that learns bundles, and API servers that learn certificates, as
// late as they may, and looks at every moment whether each would trust the other.
func TestNoMomentOfARenewalIsUntrusted(t *testing.T) {
	state := issued(t)
	type since struct {
		value []byte
		at    time.Time
	}
	trusted, served := []since{{state.Bundle, born}}, []since{{state.Current.Certificate, born}}
	learn := func(known []since, value []byte, now time.Time) []since {
		if string(known[len(known)-1].value) != string(value) {
			known = append(known, since{value, now})
		}
		return known
	}
	// inUse are the values that somebody may use now: the last one, and those that were replaced less than the delay ago.
	inUse := func(known []since, now time.Time, delay time.Duration) [][]byte {
		values := [][]byte{known[len(known)-1].value}
		for i := range len(known) - 1 {
			if now.Sub(known[i+1].at) < delay {
				values = append(values, known[i].value)
			}
		}
		return values
	}
	renewals := 0
	pace := time.Hour
	for now := born; now.Before(born.Add(365 * 24 * time.Hour)); now = now.Add(pace) {
		if step, _ := Decide(state, testHosts, now); step != StepNone {
			if step == StepIssue {
				t.Fatalf("%s: an emergency in a well-kept year", now)
			}
			if step == StepPromote {
				renewals++
			}
			state = after(t, state, step, now)
			// The write to the aggregator may come a look later; that of this look is the worst for what follows.
			state.Trusted = state.Bundle
			trusted = learn(trusted, state.Bundle, now)
			served = learn(served, state.Current.Certificate, now)
			pace = 10 * time.Second
		}
		if len(trusted) > 1 || len(served) > 1 {
			for _, bundle := range inUse(trusted, now, learnBundle) {
				for _, certificate := range inUse(served, now, learnCertificate) {
					verify(t, bundle, certificate, now)
				}
			}
		}
		if now.Sub(trusted[len(trusted)-1].at) > time.Hour && now.Sub(served[len(served)-1].at) > time.Hour {
			trusted, served, pace = trusted[len(trusted)-1:], served[len(served)-1:], time.Hour
		}
	}
	if renewals < 5 {
		t.Errorf("%d renewals in a year", renewals)
	}
}

func verify(t *testing.T, bundle, certificate []byte, now time.Time) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		t.Fatal("no bundle")
	}
	leaf := authorities(certificate)[0]
	for _, host := range testHosts {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now}); err != nil {
			t.Fatalf("%s: %v", now, err)
		}
	}
}
