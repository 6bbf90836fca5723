// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"net/http"
	"slices"
	"strings"

	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

type printedKey struct{}

// KnowPrinted is a filter that notes which watches of monitors are to be printed: as tables, as kubectl asks for. The endpoint itself
// does not see what its answers are made into.
func KnowPrinted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(request.Context())
		preferred, _, _ := strings.Cut(request.Header.Get("Accept"), ",")
		if ok && info.Verb == "watch" && info.Resource == "monitors" && strings.Contains(preferred, "as=Table") {
			request = request.WithContext(context.WithValue(request.Context(), printedKey{}, true))
		}
		next.ServeHTTP(w, request)
	})
}

func isPrinted(ctx context.Context) bool { return ctx.Value(printedKey{}) != nil }

// printSame tells whether two states of a monitor are one row.
func printSame(a, b *api.Monitor) bool { return slices.Equal(row(a).Cells, row(b).Cells) }
