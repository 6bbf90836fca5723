// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"net/http"
	"net/http/httptest"
	"testing"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
)

func TestAFailoverIsReadStrictly(t *testing.T) {
	failover := genericapirequest.RequestInfo{APIGroup: "valkey.io", Verb: "create", Resource: "valkeys", Subresource: "failover"}
	request := genericapirequest.RequestInfo{APIGroup: "valkey.io", Verb: "create", Resource: "failoverrequests"}
	creation := genericapirequest.RequestInfo{APIGroup: "valkey.io", Verb: "create", Resource: "valkeys"}
	for name, c := range map[string]struct {
		info        genericapirequest.RequestInfo
		asked, want string
	}{
		"a failover":                {failover, "dryRun=All", "dryRun=All&fieldValidation=Strict"},
		"one through a Sentinel":    {genericapirequest.RequestInfo{APIGroup: "valkey.io", Verb: "create", Resource: "valkeysentinels", Subresource: "failover"}, "", "fieldValidation=Strict"},
		"a FailoverRequest":         {request, "", "fieldValidation=Strict"},
		"one that asks for nothing": {request, "fieldValidation=Ignore", "fieldValidation=Strict"},
		"one that asks for warning": {failover, "fieldValidation=Warn", "fieldValidation=Strict"},
		"what does not exist":       {failover, "fieldValidation=Lax", "fieldValidation=Lax"},
		"a Valkey":                  {creation, "fieldValidation=Ignore", "fieldValidation=Ignore"},
		"a Valkey, by default":      {creation, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := "not called"
			handler := Strict(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) { got = request.URL.RawQuery }))
			asked := httptest.NewRequest(http.MethodPost, "/?"+c.asked, nil)
			handler.ServeHTTP(httptest.NewRecorder(), asked.WithContext(genericapirequest.WithRequestInfo(asked.Context(), &c.info)))
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
