// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/x509"
	"slices"
	"time"
)

const (
	// learnBundle is how long a kube-apiserver may take to use a changed bundle.
	learnBundle = time.Minute
	// learnCertificate is how long an API server may take to serve a changed certificate: its kubelet brings it within about a minute and a
	// half, and it reads its files once a minute.
	learnCertificate = 10 * time.Minute
)

// State is what is stored and what is trusted.
type State struct {
	// Current is in use and Next takes its place; either may be empty.
	Current, Next Pair
	// Bundle is what is to be trusted.
	Bundle []byte
	// Trusted is what the aggregator trusts now.
	Trusted []byte
	// ServingSince is when Current came into use. Zero: not known.
	ServingSince time.Time
	// RotationAsked: a person asks for a renewal now.
	RotationAsked bool
}

// Step is what to do to the stored state.
type Step string

// The steps.
const (
	// StepNone changes nothing.
	StepNone Step = ""
	// StepIssue puts a new certificate in use at once: there is none that could be served.
	StepIssue Step = "issue"
	// StepPrepare, StepPromote and StepTrim are those of a renewal, in this order.
	StepPrepare Step = "prepare"
	StepPromote Step = "promote"
	StepTrim    Step = "trim"
)

// Decide says what to do next, and why. It is pure: certificates are made, and written, by others.
func Decide(state State, hosts []string, now time.Time) (step Step, why string) {
	bundle := authorities(state.Bundle)
	current, err := state.Current.leaf()
	switch {
	case len(state.Current.Certificate) == 0:
		return StepIssue, "there is no certificate"
	case err != nil:
		return StepIssue, "what is stored is no certificate with its key"
	case signerOf(current, bundle) == nil:
		return StepIssue, "the CA of the certificate is not known any more"
	case !now.Before(current.NotAfter):
		return StepIssue, "the certificate has expired"
	}
	if len(state.Next.Certificate) > 0 {
		return decideNext(state, bundle, hosts, now)
	}
	switch {
	case state.RotationAsked:
		return StepPrepare, "a renewal is asked for"
	case !covers(current, hosts):
		return StepPrepare, "the certificate is for other host names"
	case !now.Before(renewAt(current)):
		return StepPrepare, "two thirds of the certificate's life are over"
	}
	isOver := !state.ServingSince.IsZero() && now.Sub(state.ServingSince) >= learnCertificate
	if isOver && len(bundle) > 1 {
		return StepTrim, "the certificate is served everywhere"
	}
	return StepNone, ""
}

// decideNext says what becomes of a certificate that is prepared.
func decideNext(state State, bundle []*x509.Certificate, hosts []string, now time.Time) (step Step, why string) {
	next, err := state.Next.leaf()
	if err != nil || signerOf(next, bundle) == nil || !covers(next, hosts) || !now.Before(renewAt(next)) {
		return StepPrepare, "the prepared certificate cannot be used"
	}
	isTrusted := signerOf(next, authorities(state.Trusted)) != nil
	if isTrusted && now.Sub(issuedAt(next)) >= learnBundle {
		return StepPromote, "the CA of the prepared certificate is trusted everywhere"
	}
	return StepNone, ""
}

// renewAt is when two thirds of the certificate's life are over.
func renewAt(certificate *x509.Certificate) time.Time {
	issued := issuedAt(certificate)
	return issued.Add(certificate.NotAfter.Sub(issued) * 2 / 3)
}

func covers(certificate *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return certificate.VerifyHostname(host) != nil })
}

// advance is the state after the step. fresh and its ca are a new certificate; they are used by the steps that need one.
func advance(state State, step Step, fresh Pair, ca []byte, now time.Time) State {
	known := slices.DeleteFunc(authorities(state.Bundle), func(authority *x509.Certificate) bool { return !now.Before(authority.NotAfter) })
	switch step {
	case StepIssue:
		// What else was trusted stays so for a while: an API server may still serve it.
		state.Current, state.Next, state.ServingSince, state.RotationAsked = fresh, Pair{}, now, false
		state.Bundle = bundleOf(append(authorities(ca), known...))
	case StepPrepare:
		state.Next, state.RotationAsked = fresh, false
		state.Bundle = bundleOf(append(authorities(ca), known...))
	case StepPromote:
		state.Current, state.Next, state.ServingSince = state.Next, Pair{}, now
	case StepTrim:
		if current, err := state.Current.leaf(); err == nil {
			if signer := signerOf(current, known); signer != nil {
				state.Bundle = bundleOf([]*x509.Certificate{signer})
			}
		}
	case StepNone:
	}
	return state
}
