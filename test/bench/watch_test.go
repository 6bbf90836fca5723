// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// watchers follow a side's objects, each over a connection of its own, as controllers in pods of their own would.
type watchers struct {
	side    *side
	bodies  []io.ReadCloser
	readers sync.WaitGroup
	mu      sync.Mutex
	// received is when each watcher has had its n-th event.
	received [][]time.Time
	progress chan struct{}
}

// follow opens watches at the present. Close them.
func (s *side) follow(ctx context.Context, t *testing.T, count, events int) *watchers {
	t.Helper()
	var list metav1.PartialObjectMetadataList
	if err := s.read(ctx, "?limit=1", asJSON, &list); err != nil {
		t.Fatal(err)
	}
	w := &watchers{side: s, received: make([][]time.Time, count), progress: make(chan struct{}, 1)}
	path := "?watch=1&resourceVersion=" + list.ResourceVersion
	for i := range count {
		over, err := s.connect()
		if err != nil {
			t.Fatal(err)
		}
		answer, err := s.open(ctx, over, call{method: http.MethodGet, path: path, accept: s.native})
		if err != nil {
			t.Fatal(err)
		}
		w.bodies = append(w.bodies, answer.Body)
		w.readers.Go(func() {
			defer over.CloseIdleConnections()
			w.read(i, bufio.NewReader(answer.Body), events)
		})
	}
	return w
}

// read notes when each event was there in full. A client would decode it now; that is the client's own time.
func (w *watchers) read(number int, stream *bufio.Reader, events int) {
	for range events {
		if err := w.skipFrame(stream); err != nil {
			return
		}
		now := time.Now()
		w.mu.Lock()
		w.received[number] = append(w.received[number], now)
		w.mu.Unlock()
		select {
		case w.progress <- struct{}{}:
		default:
		}
	}
}

func (w *watchers) skipFrame(stream *bufio.Reader) error {
	if w.side.native == asProtobuf {
		var length [4]byte
		if _, err := io.ReadFull(stream, length[:]); err != nil {
			return err
		}
		_, err := stream.Discard(int(binary.BigEndian.Uint32(length[:])))
		return err
	}
	for {
		_, err := stream.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// await waits until every watcher has had this many events.
func (w *watchers) await(ctx context.Context, events int) error {
	for {
		behind := 0
		w.mu.Lock()
		for _, had := range w.received {
			if len(had) < events {
				behind++
			}
		}
		w.mu.Unlock()
		if behind == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %d of %d watchers have not had %d events: %w", w.side.name, behind, len(w.received), events, ctx.Err())
		case <-w.progress:
		}
	}
}

func (w *watchers) close() {
	for _, body := range w.bodies {
		_ = body.Close()
	}
	w.readers.Wait()
}

// fanOut measures how long after a write began each watcher has the event. The server's work is that of the writes and all deliveries.
func (b *bench) fanOut(t *testing.T) row {
	t.Helper()
	r := row{name: fmt.Sprintf("WATCH, %d watchers: write to event", b.watchers), unit: "event written"}
	var open [2]*watchers
	for i, s := range b.sides {
		open[i] = s.follow(b.ctx, t, b.watchers, b.writes)
		defer open[i].close()
	}
	const blocks = 5
	for block := range blocks {
		for i, s := range b.sides {
			from, to := block*b.writes/blocks, (block+1)*b.writes/blocks
			began := make([]time.Time, 0, to-from)
			use, err := b.used(s, func() error {
				for n := from; n < to; n++ {
					began = append(began, time.Now())
					if err := s.patch(b.ctx, b.name(n), 1000+n); err != nil {
						return err
					}
					// One write at a time: the lag is that of an event, not that of a queue.
					if err := open[i].await(b.ctx, n+1); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for n, at := range began {
				for _, had := range open[i].received {
					use.latencies = append(use.latencies, had[from+n].Sub(at))
				}
			}
			use.operations = to - from
			r.of[i].add(use)
		}
	}
	return r
}
