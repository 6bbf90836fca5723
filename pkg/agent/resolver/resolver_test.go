// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resolver

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
)

const (
	zone = "cluster.test"
	host = "v-0.svc.cluster.test"
)

// upstream is a real DNS server whose behaviour can be changed.
type upstream struct {
	t       *testing.T
	address string
	server  []*dns.Server

	mu      sync.Mutex
	records map[string][]string // by name and kind
	rcode   int                 // for everything, unless success
	hangs   bool
	loses   int // so many questions more are not answered
	asked   map[string]int
}

func startUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{t: t, records: map[string][]string{}, asked: map[string]int{}}
	packets, streams := listenBoth(t)
	u.address = packets.LocalAddr().String()
	for _, server := range []*dns.Server{{PacketConn: packets}, {Listener: streams}} {
		server.Handler = dns.HandlerFunc(u.answer)
		started := make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() { _ = server.ActivateAndServe() }()
		<-started
		u.server = append(u.server, server)
	}
	t.Cleanup(u.die)
	return u
}

// listenBoth finds a port that is free for UDP and for TCP.
func listenBoth(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	var failure error
	for range 20 {
		packets, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		streams, err := net.Listen("tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, streams
		}
		failure = err
		_ = packets.Close()
	}
	t.Fatal(failure)
	return nil, nil
}

func (u *upstream) die() {
	for _, server := range u.server {
		_ = server.Shutdown()
	}
	u.server = nil
}

// set makes the name have these records; none: the name exists without any.
func (u *upstream) set(kind string, records ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.records[host+". "+kind] = records
}

func (u *upstream) remove() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.records = map[string][]string{}
}

func (u *upstream) behave(rcode int, hangs bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.rcode, u.hangs = rcode, hangs
}

func (u *upstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	total := 0
	for _, n := range u.asked {
		total += n
	}
	return total
}

func (u *upstream) answer(writer dns.ResponseWriter, request *dns.Msg) {
	u.mu.Lock()
	defer u.mu.Unlock()
	question := request.Question[0]
	kind := dns.TypeToString[question.Qtype]
	u.asked[question.Name+" "+kind]++
	if u.hangs {
		return
	}
	if u.loses > 0 {
		u.loses--
		return
	}
	reply := new(dns.Msg).SetReply(request)
	records, known := u.records[question.Name+" "+kind]
	_, hasA := u.records[question.Name+" A"]
	_, hasAAAA := u.records[question.Name+" AAAA"]
	switch {
	case u.rcode != dns.RcodeSuccess:
		reply.Rcode = u.rcode
	case !known && !hasA && !hasAAAA:
		reply.Rcode = dns.RcodeNameError
	}
	for _, record := range records {
		rr, err := dns.NewRR(record)
		if err != nil {
			u.t.Error(err)
			return
		}
		reply.Answer = append(reply.Answer, rr)
	}
	if _, overUDP := writer.RemoteAddr().(*net.UDPAddr); overUDP {
		reply.Truncate(512)
	}
	_ = writer.WriteMsg(reply)
}

func start(t *testing.T, options Options) *Resolver {
	t.Helper()
	options.Listen, options.ClusterDomain = "127.0.0.1:0", zone
	if options.Patience == 0 {
		// An upstream here may be slow because the machine is busy: what it says now is wanted.
		options.Patience = 500 * time.Millisecond
	}
	r, err := Start(options)
	// The port that UDP was given may be in use for TCP: port 0 promises nothing about both.
	for attempt := 0; errors.Is(err, syscall.EADDRINUSE) && attempt < 20; attempt++ {
		r, err = Start(options)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// query asks the resolver over the network, as the pod's processes do.
func query(t *testing.T, r *Resolver, kind uint16) (*dns.Msg, time.Duration) {
	t.Helper()
	client := dns.Client{Timeout: 5 * time.Second}
	reply, took, err := client.Exchange(new(dns.Msg).SetQuestion(host+".", kind), r.Address())
	if err != nil {
		t.Fatal(err)
	}
	return reply, took
}

func text(reply *dns.Msg) string {
	words := []string{dns.RcodeToString[reply.Rcode]}
	for _, record := range reply.Answer {
		fields := strings.Fields(record.String())
		words = append(words, fields[len(fields)-1])
	}
	return strings.Join(words, " ")
}

func expect(t *testing.T, r *Resolver, kind uint16, want string) {
	t.Helper()
	if reply, _ := query(t, r, kind); text(reply) != want {
		t.Errorf("%s: got %q, want %q", dns.TypeToString[kind], text(reply), want)
	}
}

// expire makes everything that is fresh old, as if the time had passed.
func (r *Resolver) expire() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	for _, e := range r.memory.entries {
		e.expires = time.Time{}
	}
}

func (r *Resolver) endRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.silent.IsZero() {
		r.silent = time.Unix(0, 1)
	}
}

func TestForwardsAndRepeatsWhatIsFresh(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}})
	for range 50 {
		expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	}
	if u.count() != 1 {
		t.Errorf("upstream was asked %d times for one name", u.count())
	}
	reply, _ := query(t, r, dns.TypeA)
	if ttl := reply.Answer[0].Header().Ttl; ttl > 5 || ttl == 0 {
		t.Errorf("TTL is %d, want at most 5", ttl)
	}
	u.set("A", host+". 30 IN A 10.0.0.2")
	r.expire()
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.2")
}

func TestShortTTLIsHonoured(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 0 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.set("A", host+". 0 IN A 10.0.0.2")
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.2")
}

func TestSilentUpstream(t *testing.T) {
	silences := map[string]func(*upstream){
		"hangs":       func(u *upstream) { u.behave(dns.RcodeSuccess, true) },
		"is dead":     func(u *upstream) { u.die() },
		"SERVFAIL":    func(u *upstream) { u.behave(dns.RcodeServerFailure, false) },
		"REFUSED":     func(u *upstream) { u.behave(dns.RcodeRefused, false) },
		"NOT AUTH":    func(u *upstream) { u.behave(dns.RcodeNotAuth, false) },
		"BAD REQUEST": func(u *upstream) { u.behave(dns.RcodeFormatError, false) },
	}
	for name, silence := range silences {
		t.Run(name, func(t *testing.T) {
			u := startUpstream(t)
			u.set("A", host+". 30 IN A 10.0.0.1")
			r := start(t, Options{Upstreams: []string{u.address}})
			expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
			expect(t, r, dns.TypeAAAA, "NOERROR")
			r.expire()
			silence(u)
			if reply, took := query(t, r, dns.TypeA); text(reply) != "NOERROR 10.0.0.1" || took > time.Second {
				t.Errorf("got %q in %s", text(reply), took)
			}
			for deadline := time.Now().Add(10 * time.Second); r.silentUntil().IsZero(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the silence is not noticed")
				}
			}
			// From then on nobody waits, for whatever name.
			if reply, took := query(t, r, dns.TypeAAAA); text(reply) != "NOERROR" || took > 150*time.Millisecond {
				t.Errorf("AAAA: got %q in %s", text(reply), took)
			}
			if reply, took := query(t, r, dns.TypeTXT); text(reply) != "SERVFAIL" || took > 150*time.Millisecond {
				t.Errorf("never known: got %q in %s", text(reply), took)
			}
		})
	}
}

// A resolver library that asks for both kinds of addresses must not lose the one that is known.
func TestTheOtherKindOfAddressInSilence(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}, Patience: 10 * time.Millisecond, Timeout: 5 * time.Second})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.behave(dns.RcodeSuccess, true)
	if reply, took := query(t, r, dns.TypeAAAA); text(reply) != "NOERROR" || took > 500*time.Millisecond {
		t.Errorf("got %q in %s", text(reply), took)
	}
}

func TestALiveDenialBeatsMemory(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.remove()
	r.expire()
	expect(t, r, dns.TypeA, "NXDOMAIN")
	// What was denied is forgotten: it does not come back in a silence.
	u.behave(dns.RcodeSuccess, true)
	r.expire()
	expect(t, r, dns.TypeA, "SERVFAIL")
	u.behave(dns.RcodeSuccess, false)
	u.set("A", host+". 30 IN A 10.0.0.3")
	r.endRest()
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.3")
}

func TestDenialsAreRepeatedForASecondAtMost(t *testing.T) {
	u := startUpstream(t)
	r := start(t, Options{Upstreams: []string{u.address}})
	expect(t, r, dns.TypeA, "NXDOMAIN")
	expect(t, r, dns.TypeA, "NXDOMAIN")
	if u.count() != 1 {
		t.Errorf("upstream was asked %d times", u.count())
	}
	k := key{host + ".", dns.TypeA}
	if a, _ := r.memory.fresh(k, time.Now().Add(1100*time.Millisecond)); a != nil {
		t.Error("a denial is still fresh after 1.1 s")
	}
}

func TestTheEndOfASilenceIsNoticedInTheBackground(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.behave(dns.RcodeSuccess, true)
	r.expire()
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.set("A", host+". 30 IN A 10.0.0.2")
	u.behave(dns.RcodeSuccess, false)
	eventually(t, r, "NOERROR 10.0.0.2")
}

// Behind one address stand several servers, most of which are gone: every question is a draw.
func TestALostQuestionIsPutAgain(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	u.loses = 4
	r := start(t, Options{Upstreams: []string{u.address}, HedgeAfter: 20 * time.Millisecond})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	if !r.silentUntil().IsZero() {
		t.Error("the upstream counts as silent")
	}
}

// What is remembered is given at once when the upstreams are slow, and corrected behind the asker's back.
func TestWhatIsRememberedIsNotWaitedFor(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}, Patience: 10 * time.Millisecond, HedgeAfter: 300 * time.Millisecond, Timeout: 5 * time.Second})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	u.mu.Lock()
	u.loses = 1
	u.mu.Unlock()
	u.set("A", host+". 30 IN A 10.0.0.2")
	r.expire()
	if reply, took := query(t, r, dns.TypeA); text(reply) != "NOERROR 10.0.0.1" || took > 250*time.Millisecond {
		t.Errorf("got %q in %s", text(reply), took)
	}
	eventually(t, r, "NOERROR 10.0.0.2")
}

// A name that nobody has asked for yet is known when the upstreams fall silent.
func TestNamesOfTheSetAreKnownBeforeTheyAreNeeded(t *testing.T) {
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}, Patience: 20 * time.Millisecond,
		Names: func() []string { return []string{host, "v-1.svc." + zone} }})
	deadline := time.Now().Add(10 * time.Second)
	for r.memory.remembered(key{host + ".", dns.TypeA}) == nil {
		if time.Now().After(deadline) {
			t.Fatal("the name was not asked for")
		}
		time.Sleep(10 * time.Millisecond)
	}
	u.behave(dns.RcodeSuccess, true)
	r.expire()
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	if asked := u.count(); asked > 8 {
		t.Errorf("%d questions for two names", asked)
	}
}

// eventually waits for another answer.
func eventually(t *testing.T, r *Resolver, want string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		reply, _ := query(t, r, dns.TypeA)
		if text(reply) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %q, want %q", text(reply), want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (r *Resolver) silentUntil() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.silent
}

func TestTheSecondUpstreamAnswersForTheFirst(t *testing.T) {
	dead, alive := startUpstream(t), startUpstream(t)
	dead.behave(dns.RcodeSuccess, true)
	alive.set("A", host+". 0 IN A 10.0.0.1")
	r := start(t, Options{Upstreams: []string{dead.address, alive.address}})
	expect(t, r, dns.TypeA, "NOERROR 10.0.0.1")
	if _, took := query(t, r, dns.TypeA); took > 200*time.Millisecond {
		t.Errorf("the one that answered is not preferred: %s", took)
	}
}

func TestLongAnswersComeOverTCP(t *testing.T) {
	u := startUpstream(t)
	var records []string
	for i := range 60 {
		records = append(records, host+". 30 IN A "+netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}).String())
	}
	u.set("A", records...)
	r := start(t, Options{Upstreams: []string{u.address}})
	addresses, err := r.LookupHost(t.Context(), host)
	if err != nil || len(addresses) != 60 {
		t.Fatalf("got %d addresses, %v", len(addresses), err)
	}
	// A caller without room is told to come over TCP, too.
	if reply, _ := query(t, r, dns.TypeA); !reply.Truncated {
		t.Error("60 addresses in 512 bytes")
	}
	client := dns.Client{Net: "tcp"}
	reply, _, err := client.Exchange(new(dns.Msg).SetQuestion(host+".", dns.TypeA), r.Address())
	if err != nil || len(reply.Answer) != 60 {
		t.Errorf("over TCP: %v", err)
	}
}

func TestMemorySurvivesTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names.json")
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 10.0.0.1")
	before := start(t, Options{Upstreams: []string{u.address}, File: file})
	expect(t, before, dns.TypeA, "NOERROR 10.0.0.1")
	expect(t, before, dns.TypeAAAA, "NOERROR")
	before.Close()
	u.behave(dns.RcodeSuccess, true)
	after := start(t, Options{Upstreams: []string{u.address}, File: file})
	expect(t, after, dns.TypeA, "NOERROR 10.0.0.1")
	expect(t, after, dns.TypeAAAA, "NOERROR")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestADamagedFileIsNoReasonNotToStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "names.json")
	for _, content := range []string{"{", `[{"name":"a","kind":"A","records":["nonsense"]},{"name":"b","kind":"NOPE"}]`} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		u := startUpstream(t)
		u.set("A", host+". 30 IN A 10.0.0.1")
		expect(t, start(t, Options{Upstreams: []string{u.address}, File: file}), dns.TypeA, "NOERROR 10.0.0.1")
	}
}

func TestOwnNameIsKnownFromTheBeginning(t *testing.T) {
	r := start(t, Options{Known: map[string][]netip.Addr{host: {netip.MustParseAddr("10.9.9.9"), netip.MustParseAddr("fd00::9")}}})
	expect(t, r, dns.TypeA, "NOERROR 10.9.9.9")
	expect(t, r, dns.TypeAAAA, "NOERROR fd00::9")
}

func TestOnlyNamesOfTheClusterAreRemembered(t *testing.T) {
	m := newMemory(zone)
	m.learn(key{"example.org.", dns.TypeA}, &answer{}, time.Now())
	if m.remembered(key{"example.org.", dns.TypeA}) != nil {
		t.Error("a foreign name is remembered")
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(zone)
	now := time.Now()
	for i := range maxAnswers + 10 {
		m.learn(key{netip.AddrFrom4([4]byte{1, 1, byte(i >> 8), byte(i)}).String() + "." + zone + ".", dns.TypeA}, &answer{}, now.Add(time.Duration(i)))
	}
	if len(m.entries) != maxAnswers {
		t.Errorf("%d entries", len(m.entries))
	}
	if m.remembered(key{"1.1.0.0." + zone + ".", dns.TypeA}) != nil {
		t.Error("the oldest is still there")
	}
}

func TestLookupTellsAbsentFromSilent(t *testing.T) {
	u := startUpstream(t)
	r := start(t, Options{Upstreams: []string{u.address}})
	if _, err := r.LookupHost(t.Context(), host); !errors.Is(err, ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	r.expire()
	u.behave(dns.RcodeSuccess, true)
	if _, err := r.LookupHost(t.Context(), host); !errors.Is(err, ErrSilent) {
		t.Errorf("silent: %v", err)
	}
	none := start(t, Options{})
	if _, err := none.LookupHost(t.Context(), host); !errors.Is(err, ErrSilent) {
		t.Errorf("no upstream: %v", err)
	}
	if got, err := none.LookupHost(t.Context(), "10.1.2.3"); err != nil || len(got) != 1 {
		t.Errorf("literal: %v, %v", got, err)
	}
}

func TestIPv6Only(t *testing.T) {
	u := startUpstream(t)
	u.set("AAAA", host+". 30 IN AAAA fd00::1")
	r := start(t, Options{Upstreams: []string{u.address}})
	if got, err := r.LookupHost(t.Context(), host); err != nil || len(got) != 1 || got[0].String() != "fd00::1" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	u := startUpstream(t)
	u.set("A", host+". 30 IN A 127.0.0.1")
	r := start(t, Options{Upstreams: []string{u.address}})
	connection, err := r.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.DialContext(ctx, "tcp", net.JoinHostPort(host, port)); err == nil {
		t.Error("a cancelled dial succeeded")
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	r := start(t, Options{})
	two := new(dns.Msg).SetQuestion(host+".", dns.TypeA)
	two.Question = append(two.Question, two.Question[0])
	if reply := r.Resolve(t.Context(), two); reply.Rcode != dns.RcodeFormatError {
		t.Errorf("two questions: %s", text(reply))
	}
	if reply := r.Resolve(t.Context(), new(dns.Msg).SetAxfr(host+".")); reply.Rcode != dns.RcodeNotImplemented {
		t.Errorf("a zone transfer: %s", text(reply))
	}
}

func TestUpstreamsThatAreNone(t *testing.T) {
	r := start(t, Options{})
	r.options.Listen = "127.0.0.1:53"
	if got := r.usable([]string{"127.0.0.1", "dns.example", "10.0.0.10", "10.0.0.10:53", "fd00::a"}); strings.Join(got, " ") != "10.0.0.10:53 [fd00::a]:53" {
		t.Errorf("got %v", got)
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	r := start(t, Options{})
	if _, err := Start(Options{Listen: r.Address()}); err == nil {
		t.Error("two resolvers on one port")
	}
}
