// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"net"
	"time"

	"github.com/miekg/dns"
)

// serve answers one request from the network.
func (r *Resolver) serve(writer dns.ResponseWriter, request *dns.Msg) {
	reply := r.Resolve(context.Background(), request)
	if _, overUDP := writer.RemoteAddr().(*net.UDPAddr); overUDP {
		size := dns.MinMsgSize
		if opt := request.IsEdns0(); opt != nil {
			size = max(size, int(opt.UDPSize()))
			reply.SetEdns0(opt.UDPSize(), false)
		}
		reply.Truncate(size)
	}
	_ = writer.WriteMsg(reply)
}

// Resolve answers a request: from what is fresh, else from upstream, else from memory.
func (r *Resolver) Resolve(ctx context.Context, request *dns.Msg) *dns.Msg {
	if len(request.Question) != 1 {
		return refusal(request, dns.RcodeFormatError)
	}
	question := request.Question[0]
	if question.Qclass != dns.ClassINET || question.Qtype == dns.TypeAXFR || question.Qtype == dns.TypeIXFR || question.Qtype == dns.TypeANY {
		return refusal(request, dns.RcodeNotImplemented)
	}
	key := keyOf(question)
	if fresh, ttl := r.memory.fresh(key, time.Now()); fresh != nil {
		return replyTo(request, fresh, ttl)
	}
	if r.isSilent(time.Now()) {
		// Whoever asks must not wait again. The question is put in the background, so that the end of the silence is noticed.
		r.flights.DoChan(key.String(), func() (any, error) { return r.ask(question) })
		return r.fromMemory(request, key)
	}
	flight := r.flights.DoChan(key.String(), func() (any, error) { return r.ask(question) })
	// What is remembered need not be waited for: whoever asks may be the main thread of a Sentinel, and one that is held up just when its
	// peer asks for its vote gives it to itself.
	var patience <-chan time.Time
	if r.fromMemory(request, key).Rcode == dns.RcodeSuccess {
		timer := time.NewTimer(r.options.Patience)
		defer timer.Stop()
		patience = timer.C
	}
	select {
	case result := <-flight:
		if result.Err == nil {
			answer := result.Val.(*answer)
			return replyTo(request, answer, answer.ttl)
		}
	case <-patience:
	case <-ctx.Done():
	}
	return r.fromMemory(request, key)
}

// fromMemory is the last good answer. Where only the other kind of address is known, the name exists and has none of this
// kind: without that a resolver library would hold the whole name for unresolvable.
func (r *Resolver) fromMemory(request *dns.Msg, key key) *dns.Msg {
	if remembered := r.memory.remembered(key); remembered != nil {
		return replyTo(request, remembered, staleTTL)
	}
	other := map[uint16]uint16{dns.TypeA: dns.TypeAAAA, dns.TypeAAAA: dns.TypeA}[key.kind]
	if known := r.memory.remembered(keyWith(key, other)); other != 0 && known != nil && len(known.records) > 0 {
		return replyTo(request, &answer{}, staleTTL)
	}
	return refusal(request, dns.RcodeServerFailure)
}

func refusal(request *dns.Msg, rcode int) *dns.Msg {
	reply := new(dns.Msg).SetRcode(request, rcode)
	reply.RecursionAvailable = true
	return reply
}

func replyTo(request *dns.Msg, answer *answer, ttl uint32) *dns.Msg {
	reply := new(dns.Msg).SetRcode(request, answer.rcode)
	reply.RecursionAvailable = true
	reply.Answer, reply.Ns = withTTL(answer.records, ttl), withTTL(answer.authority, ttl)
	reply.Compress = true
	return reply
}

func withTTL(records []dns.RR, ttl uint32) []dns.RR {
	copies := make([]dns.RR, 0, len(records))
	for _, record := range records {
		record = dns.Copy(record)
		record.Header().Ttl = min(record.Header().Ttl, ttl)
		copies = append(copies, record)
	}
	return copies
}

func (r *Resolver) isSilent(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.silent)
}

// heard notes that an upstream answered.
func (r *Resolver) heard(index int) {
	r.mu.Lock()
	wasSilent := !r.silent.IsZero()
	r.first, r.silent = index, time.Time{}
	r.mu.Unlock()
	if wasSilent {
		r.options.Log.Info("DNS servers answer again")
	}
}

// answerFrom bounds for how long the answer holds.
func (r *Resolver) answerFrom(reply *dns.Msg) *answer {
	ttl := uint32(r.options.MaxTTL / time.Second)
	for _, record := range append(append([]dns.RR{}, reply.Answer...), reply.Ns...) {
		ttl = min(ttl, record.Header().Ttl)
		if soa, ok := record.(*dns.SOA); ok {
			ttl = min(ttl, soa.Minttl)
		}
	}
	if reply.Rcode == dns.RcodeNameError {
		ttl = min(ttl, uint32(negativeTTL/time.Second))
	}
	return &answer{rcode: reply.Rcode, records: reply.Answer, authority: reply.Ns, ttl: ttl}
}
