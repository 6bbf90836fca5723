// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

var (
	objects  = flag.Int("objects", 50, "objects stored on each side")
	lists    = flag.Int("lists", 5, "times that everything is listed, of each kind of list")
	watching = flag.Int("watchers", 10, "watchers")
	profiles = flag.String("profiles", "", "directory for CPU profiles of both servers, taken after the measurements")
)

// longest is how long one run may take: it ends by itself.
const longest = 18 * time.Minute

// workers write at the same time.
const workers = 4

// bench is one run.
type bench struct {
	ctx     context.Context
	cluster *cluster
	// sides are ours and the CustomResourceDefinition, in this order.
	sides                     [2]*side
	objects, watchers, writes int
	loadBefore                string
	rows                      []row
	sizes                     []size
}

func (b *bench) name(number int) string { return fmt.Sprintf("store-%05d", number) }

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func processors() int { return runtime.NumCPU() }

func TestBesideACustomResourceDefinition(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	b := &bench{ctx: ctx, cluster: startCluster(t), objects: *objects, watchers: *watching, writes: min(100, *objects), loadBefore: load()}
	for i, rival := range []bool{false, true} {
		var err error
		if b.sides[i], err = newSide(b.cluster.admin, rival); err != nil {
			t.Fatal(err)
		}
		defer b.sides[i].http.CloseIdleConnections()
	}
	b.warmUp(t)
	b.store(t)
	b.compare(t)
	b.reads(t)
	b.writing(t)
	b.rows = append(b.rows, b.fanOut(t))
	if err := b.print(os.Stdout); err != nil {
		t.Fatal(err)
	}
	b.plausible(t)
	if *profiles != "" {
		b.profile(t)
	}
}

// warmUp makes both sides do everything once, so that no connection, cache or compiled schema is paid for by who comes first.
func (b *bench) warmUp(t *testing.T) {
	t.Helper()
	for _, s := range b.sides {
		for i := range 20 {
			name := fmt.Sprintf("warm-%d", i)
			if err := errors.Join(s.create(b.ctx, name), s.report(b.ctx, name), s.patch(b.ctx, name, i), s.send(b.ctx, list("", s.native)), s.remove(b.ctx, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func list(query, accept string) call {
	return call{method: http.MethodGet, path: query, accept: accept}
}

// store fills both sides, one after the other: the growth of kube-apiserver is that of whose turn it is. Ours comes first, so what
// kube-apiserver has grown by for us already, the other side need not grow by again.
func (b *bench) store(t *testing.T) {
	t.Helper()
	var grown, full [2]memory
	var kept [2]float64
	for i, s := range b.sides {
		before := b.cluster.memory(b.ctx, t)
		if err := b.parallel(b.objects, func(n int) error {
			return errors.Join(s.create(b.ctx, b.name(n)), s.report(b.ctx, b.name(n)))
		}); err != nil {
			t.Fatal(err)
		}
		grown[i] = b.cluster.memory(b.ctx, t).minus(before)
		for range 3 {
			if err := s.send(b.ctx, list("", s.native)); err != nil {
				t.Fatal(err)
			}
		}
		full[i] = b.cluster.memory(b.ctx, t).minus(before)
		count, bytes := b.cluster.stored(t, s)
		if count != b.objects {
			t.Fatalf("%s: etcd holds %d objects instead of %d", s.name, count, b.objects)
		}
		kept[i] = float64(bytes) / float64(count)
	}
	const mebibyte = 1 << 20
	b.sizes = append(b.sizes,
		size{"bytes in etcd, each object", kept},
		size{"growth of resident memory of all servers by storing them, MiB", [2]float64{float64(grown[0].rss) / mebibyte, float64(grown[1].rss) / mebibyte}},
		size{"the same, after three full lists besides, MiB", [2]float64{float64(full[0].rss) / mebibyte, float64(full[1].rss) / mebibyte}},
		size{"growth of the live heap of kube-apiserver and our server, MiB", [2]float64{float64(full[0].heap) / mebibyte, float64(full[1].heap) / mebibyte}})
}

// compare fails if the sides do not hold the same: then the figures would be of different things.
func (b *bench) compare(t *testing.T) {
	t.Helper()
	var specs, states [2]any
	for i, s := range b.sides {
		var object unstructured.Unstructured
		if err := s.read(b.ctx, "/"+b.name(0), asJSON, &object.Object); err != nil {
			t.Fatal(err)
		}
		specs[i], states[i] = object.Object["spec"], object.Object["status"]
		if len(object.GetManagedFields()) != 2 {
			t.Errorf("%s: %d field managers instead of 2", s.name, len(object.GetManagedFields()))
		}
	}
	for what, values := range map[string][2]any{"specs": specs, "statuses": states} {
		if !reflect.DeepEqual(values[0], values[1]) {
			ours, _ := json.Marshal(values[0])
			rival, _ := json.Marshal(values[1])
			t.Fatalf("the %s differ:\n%s\n%s", what, ours, rival)
		}
	}
	for _, s := range b.sides {
		var table metav1.Table
		if err := s.read(b.ctx, "?limit=1", asTable, &table); err != nil {
			t.Fatal(err)
		}
		if len(table.Rows) != 1 || len(table.ColumnDefinitions) != 12 {
			t.Errorf("%s: a table of %d rows and %d columns", s.name, len(table.Rows), len(table.ColumnDefinitions))
		}
	}
}

func (b *bench) reads(t *testing.T) {
	t.Helper()
	with := func(query string, accept func(*side) string, gzip bool) func(*side, int) error {
		return func(s *side, _ int) error {
			c := list(query, accept(s))
			c.gzip = gzip
			return s.send(b.ctx, c)
		}
	}
	native := func(s *side) string { return s.native }
	same := func(accept string) func(*side) string { return func(*side) string { return accept } }
	b.measure(t, "LIST, protobuf against JSON", *lists, 1, with("", native, false))
	b.measure(t, "the same, compressed", *lists, 1, with("", native, true))
	b.measure(t, "LIST, JSON against JSON", *lists, 1, with("", same(asJSON), false))
	b.measure(t, "LIST in pages of 500", *lists, 1, func(s *side, _ int) error { return b.pages(s) })
	b.measure(t, "LIST as table (kubectl get)", *lists, 1, with("", same(asTable), false))
	b.measure(t, "GET", min(1000, 10*b.objects), 1, func(s *side, n int) error {
		return s.send(b.ctx, list("/"+b.name(n%b.objects), s.native))
	})
	b.measure(t, "GET, JSON against JSON", min(1000, 10*b.objects), 1, func(s *side, n int) error {
		return s.send(b.ctx, list("/"+b.name(n%b.objects), asJSON))
	})
}

// pages lists everything as informers do that know no watch lists.
func (b *bench) pages(s *side) error {
	for token := ""; ; {
		body, err := s.body(b.ctx, list("?limit=500&continue="+token, s.native))
		if err != nil {
			return err
		}
		if token, err = s.continuation(body); err != nil || token == "" {
			return err
		}
	}
}

func (b *bench) writing(t *testing.T) {
	t.Helper()
	times := min(1000, b.objects)
	extra := func(n int) string { return fmt.Sprintf("extra-%05d", n) }
	b.measure(t, fmt.Sprintf("CREATE, %d at a time", workers), times, workers, func(s *side, n int) error { return s.create(b.ctx, extra(n)) })
	b.measure(t, fmt.Sprintf("PATCH of a status, %d at a time", workers), times, workers, func(s *side, n int) error { return s.report(b.ctx, extra(n)) })
	b.measure(t, fmt.Sprintf("PATCH of a spec, %d at a time", workers), times, workers, func(s *side, n int) error { return s.patch(b.ctx, extra(n), n) })
	b.measure(t, fmt.Sprintf("DELETE, %d at a time", workers), times, workers, func(s *side, n int) error { return s.remove(b.ctx, extra(n)) })
}

// measure does an operation on both sides, in turns, so that whatever else the machine does meets both.
func (b *bench) measure(t *testing.T, name string, times, workers int, do func(s *side, number int) error) {
	t.Helper()
	r := row{name: name}
	blocks := min(times, 10)
	for block := range blocks {
		from, to := block*times/blocks, (block+1)*times/blocks
		for turn := range b.sides {
			i := (turn + block) % len(b.sides)
			s, latencies := b.sides[i], make([]time.Duration, to-from)
			use, err := b.used(s, func() error {
				return parallel(to-from, workers, func(n int) error {
					began := time.Now()
					err := do(s, from+n)
					latencies[n] = time.Since(began)
					return err
				})
			})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			use.latencies, use.operations = latencies, to-from
			r.of[i].add(use)
		}
	}
	b.rows = append(b.rows, r)
	t.Logf("%s: done", name)
}

// used is what the servers use while do runs.
func (b *bench) used(s *side, do func() error) (use, error) {
	cpuBefore, err := b.cluster.servers.cpu()
	if err != nil {
		return use{}, err
	}
	wireBefore := s.wire.Load()
	if err := do(); err != nil {
		return use{}, err
	}
	cpu, err := b.cluster.servers.cpu()
	return use{cpu: cpu - cpuBefore, wire: s.wire.Load() - wireBefore}, err
}

func (b *bench) parallel(times int, do func(n int) error) error { return parallel(times, workers, do) }

// parallel does something a number of times and returns the first error of each worker.
func parallel(times, workers int, do func(n int) error) error {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, workers)
	for worker := range workers {
		group.Go(func() {
			for errs[worker] == nil {
				n := int(next.Add(1)) - 1
				if n >= times {
					return
				}
				errs[worker] = do(n)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// plausible fails if something was not measured: a run that counts nothing must not look like a result.
func (b *bench) plausible(t *testing.T) {
	t.Helper()
	for _, r := range b.rows {
		for i := range r.of {
			if u := &r.of[i]; u.operations == 0 || len(u.latencies) == 0 || u.percentile(50) <= 0 || u.wire == 0 {
				t.Errorf("%s, %s: %d operations, %d latencies, %d bytes", r.name, b.sides[i].name, u.operations, len(u.latencies), u.wire)
			}
		}
	}
	total := [2]time.Duration{}
	for _, r := range b.rows {
		total[0], total[1] = total[0]+r.of[0].cpu, total[1]+r.of[1].cpu
	}
	if total[0] == 0 || total[1] == 0 {
		t.Errorf("servers that work without CPU time: %v", total)
	}
}

// profile writes CPU profiles of both servers while each side lists, gets, creates, and tells watchers of changes.
func (b *bench) profile(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(*profiles, 0o755); err != nil {
		t.Fatal(err)
	}
	work := map[string]func(s *side, n int) error{
		"list":  func(s *side, _ int) error { return s.send(b.ctx, list("", s.native)) },
		"table": func(s *side, _ int) error { return s.send(b.ctx, list("", asTable)) },
		"get":   func(s *side, n int) error { return s.send(b.ctx, list("/"+b.name(n%b.objects), s.native)) },
		"watch": func(s *side, n int) error { return s.patch(b.ctx, b.name(n%b.objects), 10000+n) },
		"create": func(s *side, n int) error {
			name := fmt.Sprintf("profiled-%d", n)
			return errors.Join(s.create(b.ctx, name), s.remove(b.ctx, name))
		},
	}
	for operation, do := range work {
		for _, s := range b.sides {
			b.profileOne(t, operation, s, do)
		}
	}
}

// profileOne does one thing to one side again and again while both servers are profiled.
func (b *bench) profileOne(t *testing.T, operation string, s *side, do func(s *side, n int) error) {
	t.Helper()
	if operation == "watch" {
		defer s.follow(b.ctx, t, b.watchers, math.MaxInt).close()
	}
	var busy, profilers sync.WaitGroup
	ctx, stop := context.WithCancel(b.ctx)
	busy.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := do(s, n); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for server, base := range map[string]string{"kube-apiserver": b.cluster.admin.Host, "valkey-apiserver": b.cluster.serverURL()} {
		profilers.Go(func() {
			content, err := b.cluster.direct(b.ctx, base+"/debug/pprof/profile?seconds=8")
			if err == nil {
				err = os.WriteFile(filepath.Join(*profiles, fmt.Sprintf("%s-%s-%s.pb.gz", operation, s.name, server)), content, 0o600)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	profilers.Wait()
	stop()
	busy.Wait()
}
