// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestNobodyIsServedBeforeTheAggregatorIsRecognised(t *testing.T) {
	var known atomic.Bool
	gate := &recognition{bundle: func() []byte {
		if known.Load() {
			return []byte("bundle")
		}
		return nil
	}}
	handler := gate.Filter(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	ask := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	for _, path := range []string{"/apis/valkey.io/v1alpha1", "/openapi/v3", "/readyzone"} {
		answer := ask(path)
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || answer.Header().Get("Connection") != "close" {
			t.Errorf("%s: %d %v", path, answer.Code, answer.Header())
		}
		if body := answer.Body.String(); !strings.Contains(body, "kube-system/extension-apiserver-authentication") {
			t.Errorf("it does not say what is missing: %s", body)
		}
	}
	for _, path := range []string{"/livez", "/readyz/ping", "/healthz"} {
		if answer := ask(path); answer.Code != http.StatusTeapot {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
	if gate.Check(nil) == nil {
		t.Error("it is ready")
	}
	known.Store(true)
	gate.Run(t.Context())
	if answer := ask("/apis/valkey.io/v1alpha1"); answer.Code != http.StatusTeapot || gate.Check(nil) != nil {
		t.Errorf("when the CA is known: %d, %v", answer.Code, gate.Check(nil))
	}
}
