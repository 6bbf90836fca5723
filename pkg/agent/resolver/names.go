// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"time"

	"github.com/miekg/dns"
)

const (
	// namesEvery is how often the names are gone through.
	namesEvery = 2 * time.Second
	// namesFresh is how old a remembered address of a name may become before it is asked for again. Names that are in use are younger.
	namesFresh = time.Minute
	// namesRetry is the rest after a name that has no address yet.
	namesRetry = 5 * time.Second
)

// keepNames keeps the addresses of the names in memory. A name that is needed for the first time while the DNS servers are silent is
// needed most: a Sentinel that learns of a failover and cannot resolve the new primary stays at the old one for good.
func (r *Resolver) keepNames(ctx context.Context) {
	tick := time.NewTicker(namesEvery)
	defer tick.Stop()
	due := map[string]time.Time{}
	for {
		next := map[string]time.Time{}
		for _, name := range r.options.Names() {
			next[name] = due[name]
			if now := time.Now(); !now.Before(next[name]) && ctx.Err() == nil {
				next[name] = now.Add(r.refresh(name))
			}
		}
		due = next
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// refresh asks for the addresses of one name, unless somebody did a moment ago, and says when to do so again.
func (r *Resolver) refresh(name string) time.Duration {
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		question := dns.Question{Name: dns.Fqdn(name), Qtype: kind, Qclass: dns.ClassINET}
		if fresh, _ := r.memory.fresh(keyOf(question), time.Now()); fresh != nil {
			continue
		}
		result := <-r.flights.DoChan(keyOf(question).String(), func() (any, error) { return r.ask(question) })
		if result.Err != nil {
			return namesRetry
		}
	}
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		known := r.memory.remembered(key{dns.CanonicalName(name), kind})
		if known != nil && len(known.records) > 0 {
			return namesFresh
		}
	}
	return namesRetry
}
