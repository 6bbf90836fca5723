// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
)

// fullStore says what is wrong to those whose writes an embedded etcd without room would refuse. Reads and deletions go on.
type fullStore struct {
	etcd interface {
		Full() bool
		Quota() int64
	}
}

// Filter answers writes with 507 while the store is full.
func (f fullStore) Filter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.Method {
		case http.MethodPost, http.MethodPut, http.MethodPatch:
			if f.etcd.Full() {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusInsufficientStorage)
				_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"code":507}`,
					fmt.Sprintf("the store of the API server has reached its quota of %d bytes: delete objects, or raise --embedded-etcd-quota-bytes", f.etcd.Quota()))
				return
			}
		}
		next.ServeHTTP(w, request)
	})
}
