// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

// Strict is a filter that has a request for a failover refused when it holds a field that does not exist, also where the request asks for a
// warning or for nothing: that would come after the failover, and a misspelt target would have moved the primary elsewhere. And who may
// not list CustomResourceDefinitions has to ask kubectl for nothing (--validate=false) to create a FailoverRequest at all.
func Strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(request.Context())
		isOurs := ok && info.APIGroup == api.GroupName && info.Verb == "create"
		if isOurs && (info.Subresource == "failover" || info.Resource == "failoverrequests") {
			query := request.URL.Query()
			switch query.Get("fieldValidation") {
			case "", metav1.FieldValidationWarn, metav1.FieldValidationIgnore:
				query.Set("fieldValidation", metav1.FieldValidationStrict)
				request = request.Clone(request.Context())
				request.URL.RawQuery = query.Encode()
			}
		}
		next.ServeHTTP(w, request)
	})
}
