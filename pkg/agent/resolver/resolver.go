// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/singleflight"
)

// Options configures a Resolver. Only Upstreams must be given for anything to resolve.
type Options struct {
	// Listen is where to serve, UDP and TCP. Default 127.0.0.1:53.
	Listen string
	// Upstreams are DNS servers as IP or IP:port, in order of preference.
	Upstreams []string
	// ClusterDomain is the domain below which answers are remembered, such as cluster.local.
	ClusterDomain string
	// Known are answers to begin with, for when the upstreams are silent: this pod's own name.
	Known map[string][]netip.Addr
	// File keeps what is remembered across a restart of the container. Empty: it does not.
	File string
	// Names are hosts below ClusterDomain whose addresses are kept in memory before anybody asks: those of the set. Asked for again and
	// again, since the set may change. Optional.
	Names func() []string
	// Timeout is how long the upstreams have for one question before they count as silent. Default 1 s.
	Timeout time.Duration
	// HedgeAfter is after how long without an answer the question is put once more, beside the first. Default 100 ms.
	HedgeAfter time.Duration
	// Patience is how long the upstreams are waited for where an answer is remembered. An answer that comes later is given the next time.
	// Default 20 ms, ten times what a DNS server in the cluster takes.
	Patience time.Duration
	// MaxTTL bounds how long an answer is given without asking again. Default 5 s.
	MaxTTL time.Duration
	// Log is for what people should know. Default: discards.
	Log *slog.Logger
}

const (
	// restAfterSilence is for how long after silence answers are given from memory at once, while the upstreams are tried in
	// the background: a caller must not wait for each name again.
	restAfterSilence = time.Second
	// negativeTTL bounds how long NXDOMAIN is repeated: a pod that is coming must be found soon.
	negativeTTL = time.Second
	// staleTTL, in seconds, is on remembered answers.
	staleTTL = 1
	// saveEvery is how often changes are written to the file at most.
	saveEvery = time.Second
	// minTries is how often is asked at least, where upstreams refuse.
	minTries = 2
)

// Resolver is a running stub resolver.
type Resolver struct {
	options   Options
	upstreams []string
	memory    *memory
	flights   singleflight.Group
	servers   []*dns.Server
	address   string
	cancel    context.CancelFunc
	done      sync.WaitGroup

	mu     sync.Mutex
	silent time.Time // until when the upstreams count as silent
	first  int       // the upstream that answered last
}

// Start listens and serves until Close.
func Start(options Options) (*Resolver, error) {
	options = options.withDefaults()
	r := &Resolver{options: options, memory: newMemory(options.ClusterDomain)}
	r.upstreams = r.usable(options.Upstreams)
	r.memory.know(options.Known)
	if err := r.memory.load(options.File); err != nil {
		options.Log.Warn("remembered names are lost", "file", options.File, "err", err)
	}
	if err := r.listen(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	r.done.Go(func() { r.keepFile(ctx) })
	if options.Names != nil {
		r.done.Go(func() { r.keepNames(ctx) })
	}
	return r, nil
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = "127.0.0.1:53"
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.HedgeAfter <= 0 {
		o.HedgeAfter = 100 * time.Millisecond
	}
	if o.Patience <= 0 {
		o.Patience = 20 * time.Millisecond
	}
	if o.MaxTTL <= 0 {
		o.MaxTTL = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// usable drops upstreams that are no address, or this resolver itself.
func (r *Resolver) usable(upstreams []string) []string {
	var usable []string
	for _, upstream := range upstreams {
		if ip, err := netip.ParseAddr(upstream); err == nil {
			upstream = netip.AddrPortFrom(ip, 53).String()
		}
		if _, err := netip.ParseAddrPort(upstream); err != nil || upstream == r.options.Listen || slices.Contains(usable, upstream) {
			r.options.Log.Warn("DNS server is not used", "upstream", upstream)
			continue
		}
		usable = append(usable, upstream)
	}
	return usable
}

// listen binds TCP to the port that UDP got, so that port 0 gives one address.
func (r *Resolver) listen() error {
	packets, err := net.ListenPacket("udp", r.options.Listen)
	if err != nil {
		return fmt.Errorf("serve DNS on %s (the pod needs net.ipv4.ip_unprivileged_port_start=0): %w", r.options.Listen, err)
	}
	r.address = packets.LocalAddr().String()
	streams, err := net.Listen("tcp", r.address)
	if err != nil {
		_ = packets.Close()
		return fmt.Errorf("serve DNS on %s: %w", r.address, err)
	}
	handler := dns.HandlerFunc(r.serve)
	r.servers = []*dns.Server{{PacketConn: packets, Handler: handler}, {Listener: streams, Handler: handler}}
	for _, server := range r.servers {
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		r.done.Go(func() {
			if err := server.ActivateAndServe(); err != nil {
				r.options.Log.Error("DNS server ended", "err", err)
			}
		})
		<-started
	}
	return nil
}

// Address is where it serves.
func (r *Resolver) Address() string { return r.address }

// Close stops serving and writes the file.
func (r *Resolver) Close() {
	for _, server := range r.servers {
		_ = server.Shutdown()
	}
	r.cancel()
	r.done.Wait()
}

func (r *Resolver) keepFile(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	failed := false
	for {
		err := r.memory.save(r.options.File)
		if err != nil && !failed {
			r.options.Log.Warn("names are not kept", "file", r.options.File, "err", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			_ = r.memory.save(r.options.File)
			return
		case <-tick.C:
		}
	}
}

// Failures of LookupHost.
var (
	// ErrNotFound: the name does not exist, or has no address.
	ErrNotFound = errors.New("no such host")
	// ErrSilent: nobody answers, and nothing is remembered.
	ErrSilent = errors.New("the DNS servers do not answer")
)

// LookupHost is the addresses of a host, IPv4 before IPv6. A literal address is itself.
func (r *Resolver) LookupHost(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	failure := ErrNotFound
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		reply := r.Resolve(ctx, new(dns.Msg).SetQuestion(dns.Fqdn(host), kind))
		if addresses := addressesIn(reply); len(addresses) > 0 {
			return addresses, nil
		}
		if reply.Rcode == dns.RcodeServerFailure {
			failure = ErrSilent
		}
		if reply.Rcode != dns.RcodeSuccess {
			break
		}
	}
	return nil, fmt.Errorf("resolve %s: %w", host, failure)
}

func addressesIn(reply *dns.Msg) []netip.Addr {
	var addresses []netip.Addr
	for _, record := range reply.Answer {
		var ip net.IP
		switch record := record.(type) {
		case *dns.A:
			ip = record.A
		case *dns.AAAA:
			ip = record.AAAA
		}
		if address, ok := netip.AddrFromSlice(ip); ok {
			addresses = append(addresses, address.Unmap())
		}
	}
	return addresses
}

// DialContext connects to host:port, trying the host's addresses in turn.
func (r *Resolver) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := r.LookupHost(ctx, host)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	for _, ip := range addresses {
		var connection net.Conn
		if connection, err = dialer.DialContext(ctx, network, net.JoinHostPort(ip.String(), port)); err == nil {
			return connection, nil
		}
	}
	return nil, err
}
