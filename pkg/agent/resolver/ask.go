// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"errors"
	"time"

	"github.com/miekg/dns"
)

var errNoUpstream = errors.New("no DNS server is configured")

type rcodeError int

func (e rcodeError) Error() string { return dns.RcodeToString[int(e)] }

// ask puts the question upstream and remembers what comes.
func (r *Resolver) ask(question dns.Question) (*answer, error) {
	reply, err := r.askUpstream(question)
	if err == nil {
		answer := r.answerFrom(reply)
		r.memory.learn(keyOf(question), answer, time.Now())
		return answer, nil
	}
	r.mu.Lock()
	wasSilent := !r.silent.IsZero()
	r.silent = time.Now().Add(restAfterSilence)
	r.mu.Unlock()
	if !wasSilent {
		r.options.Log.Warn("DNS servers do not answer: serving what is remembered", "name", question.Name, "err", err)
	}
	return nil, err
}

// outcome is what came of one try at one upstream.
type outcome struct {
	upstream int
	reply    *dns.Msg
	err      error
}

// askUpstream tries the upstreams in turn, a try more every HedgeAfter, and takes the first answer. One address may stand for several
// servers, some of which are gone: each try has a socket of its own, so that it may reach another one, while the earlier are still
// listened to. An upstream that refuses is not waited for; when all have, that is the end.
func (r *Resolver) askUpstream(question dns.Question) (*dns.Msg, error) {
	if len(r.upstreams) == 0 {
		return nil, errNoUpstream
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.options.Timeout)
	defer cancel()
	r.mu.Lock()
	first := r.first
	r.mu.Unlock()
	hedge := time.NewTicker(r.options.HedgeAfter)
	defer hedge.Stop()
	outcomes := make(chan outcome)
	tries, failed := 0, 0
	try := func() {
		upstream := (first + tries) % len(r.upstreams)
		tries++
		go func() {
			reply, err := exchange(ctx, question, r.upstreams[upstream])
			select {
			case outcomes <- outcome{upstream, reply, err}:
			case <-ctx.Done():
			}
		}()
	}
	try()
	for {
		select {
		case o := <-outcomes:
			if o.err == nil {
				r.heard(o.upstream)
				return o.reply, nil
			}
			failed++
			switch {
			case tries < max(minTries, len(r.upstreams)):
				try()
			case failed == tries:
				return nil, o.err
			}
		case <-hedge.C:
			try()
		case <-ctx.Done():
			return nil, errors.New("no answer within " + r.options.Timeout.String())
		}
	}
}

// exchange is one question and its answer. Only one that says something about the name counts: SERVFAIL, REFUSED and the like do not.
func exchange(ctx context.Context, question dns.Question, upstream string) (*dns.Msg, error) {
	request := new(dns.Msg)
	request.Id, request.RecursionDesired, request.Question = dns.Id(), true, []dns.Question{question}
	request.SetEdns0(1232, false)
	client := dns.Client{Net: "udp"}
	reply, _, err := client.ExchangeContext(ctx, request, upstream)
	if err == nil && reply.Truncated {
		client.Net = "tcp"
		reply, _, err = client.ExchangeContext(ctx, request, upstream)
	}
	if err != nil {
		return nil, err
	}
	if reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError {
		return nil, rcodeError(reply.Rcode)
	}
	return reply, nil
}
