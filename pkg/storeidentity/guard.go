// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"
)

// Store holds the id of itself.
type Store interface {
	// Identity is the id in the store, empty where it has none.
	Identity(ctx context.Context) (string, error)
	// Adopt writes an id into a store that has none; an id that is there already stays and is no error.
	Adopt(ctx context.Context, id string) error
}

// Record is where Kubernetes remembers which store is ours.
type Record interface {
	// Read is the id on record and the id a person accepted; both empty where there is no record.
	Read(ctx context.Context) (recorded, accepted string, err error)
	// Write puts an id on record and clears what was accepted.
	Write(ctx context.Context, id string) error
}

// Children are what objects of ours own in Kubernetes.
type Children interface {
	// Any is one of them, for people; empty where there is none.
	Any(ctx context.Context) (string, error)
}

const (
	// period between two looks at a store that is served.
	period = time.Second
	// lookTimeout bounds one look.
	lookTimeout = 3 * time.Second
	// tolerated is how many looks in a row may fail to read a store that was the one on record. A member of etcd that is lost fails a few; and
	// while all are lost, requests fail by themselves. What can be read and is another store closes the API at once.
	tolerated = 2
	// RetryAfterSeconds tells a refused client when to come again.
	retryAfter = "2"
)

// Guard compares a store with the record, at the start and all the time, and closes the API while they differ.
type Guard struct {
	store    Store
	record   Record
	children Children
	// reading the record can fail while kube-apiserver is away; once it is known it need not be read again to notice another store.
	known string
	// unread is how many looks in a row could not read the store.
	unread int

	mu     sync.RWMutex
	reason error
}

// New is a guard that lets nobody through until the first look has confirmed the store.
func New(store Store, rec Record, children Children) *Guard {
	return &Guard{store: store, record: rec, children: children, reason: errors.New("the store has not been compared with the record yet")}
}

// Run looks until the context ends.
func (g *Guard) Run(ctx context.Context) {
	for {
		g.observe(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(period):
		}
	}
}

// observe looks once and opens or closes the API.
func (g *Guard) observe(ctx context.Context) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	err := g.look(look)
	if ctx.Err() != nil {
		// Nothing was seen: the server ends, and answers what it still has.
		return
	}
	var unreadable unreadableError
	if !errors.As(err, &unreadable) {
		g.unread = 0
	} else if g.unread++; g.unread <= tolerated && g.Check(nil) == nil {
		klog.FromContext(ctx).Info("The store could not be read", "err", err, "inARow", g.unread)
		return
	}
	g.set(ctx, err)
}

// unreadableError says that a look has shown nothing about the store.
type unreadableError struct{ error }

// Unwrap is what went wrong.
func (e unreadableError) Unwrap() error { return e.error }

func (g *Guard) set(ctx context.Context, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if (err == nil) != (g.reason == nil) || (err != nil && err.Error() != g.reason.Error()) {
		if err != nil {
			klog.FromContext(ctx).Error(err, "The API is closed")
		} else {
			klog.FromContext(ctx).Info("The store is the one on record; the API is open", "store", g.known)
		}
	}
	g.reason = err
}

// look compares once, and does what decide says.
func (g *Guard) look(ctx context.Context) error {
	stored, err := g.store.Identity(ctx)
	if err != nil {
		return unreadableError{fmt.Errorf("read the store's identity: %w", err)}
	}
	if stored != "" && stored == g.known {
		return nil
	}
	recorded, accepted, err := g.record.Read(ctx)
	if err != nil {
		return fmt.Errorf("read which store is on record: %w", err)
	}
	seen := Seen{Stored: stored, Recorded: recorded, Accepted: accepted}
	if stored == "" && recorded == "" {
		if seen.Child, err = g.children.Any(ctx); err != nil {
			return fmt.Errorf("look for workloads that the objects of an earlier store own: %w", err)
		}
	}
	what, why := decide(seen)
	switch what {
	case confirmed:
		g.known = stored
		return nil
	case refuse:
		g.known = ""
		return errors.New(why)
	case birth, replace:
		if err := g.store.Adopt(ctx, string(uuid.NewUUID())); err != nil {
			return fmt.Errorf("give the store an identity: %w", err)
		}
		// Another server may have been faster: what counts is what the store says.
		if stored, err = g.store.Identity(ctx); err != nil {
			return fmt.Errorf("read the store's identity: %w", err)
		}
	}
	if err := g.record.Write(ctx, stored); err != nil {
		return fmt.Errorf("put the store on record: %w", err)
	}
	// The next look confirms what was written, also when somebody else wrote at the same time.
	return errors.New("the store has just been put on record")
}

// Name of the health check.
func (g *Guard) Name() string { return "store-identity" }

// Check is nil while the store is the one on record.
func (g *Guard) Check(_ *http.Request) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.reason
}

// Filter answers 503 to every request for resources while the store is not the one on record.
func (g *Guard) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reason := g.Check(r)
		// Discovery of the group has no object in it and stays.
		if reason == nil || strings.Count(strings.Trim(r.URL.Path, "/"), "/") < 3 || !strings.HasPrefix(r.URL.Path, "/apis/") {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Retry-After", retryAfter)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":"ServiceUnavailable","details":{"retryAfterSeconds":%s},"code":503}`,
			reason.Error(), retryAfter)
	})
}
