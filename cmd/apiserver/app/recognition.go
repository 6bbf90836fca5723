// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// recognitionPeriod is how often it is looked whether requests can be recognised.
	recognitionPeriod = 50 * time.Millisecond
	// recognitionSettles is how long the TLS layer may take to offer a CA that is known.
	recognitionSettles = 300 * time.Millisecond
)

// recognition answers 503 from the moment the server listens until it knows the CA of the aggregator's requests. Without it the first
// requests after a start would be answered 401, or, worse, the aggregator would keep a connection on which it never showed its certificate.
type recognition struct {
	// bundle is the CA as far as it is known.
	bundle func() []byte
	open   atomic.Bool
}

// Run returns when requests are recognised, or with ctx.
func (r *recognition) Run(ctx context.Context) {
	wait := recognitionPeriod
	for known := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if known {
			r.open.Store(true)
			return
		}
		if known = len(r.bundle()) > 0; known {
			wait = recognitionSettles
		}
	}
}

// Name of the health check.
func (r *recognition) Name() string { return "request-recognition" }

// Check is nil when requests are recognised.
func (r *recognition) Check(*http.Request) error {
	if r.open.Load() {
		return nil
	}
	return errors.New("the CA of the aggregator's requests is not known yet: it is read from ConfigMap " +
		authenticationNamespace + "/" + authenticationConfigMap)
}

// Filter lets the kubelet's questions through, and ends connections on which others were asked too early.
func (r *recognition) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		err := r.Check(request)
		if err == nil || isProbe(request.URL.Path) {
			next.ServeHTTP(w, request)
			return
		}
		w.Header().Set("Connection", "close")
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":"ServiceUnavailable","details":{"retryAfterSeconds":1},"code":503}`,
			err.Error())
	})
}

func isProbe(path string) bool {
	for _, probe := range []string{"/healthz", "/livez", "/readyz"} {
		if path == probe || strings.HasPrefix(path, probe+"/") {
			return true
		}
	}
	return false
}
