// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pastcache owns looking at children by name. The cache holds only objects that carry the product's label: what it lacks may be
// somebody else's, or be so new that it has not arrived, and is looked for past it. So a name is never taken from anybody, and nothing is made
// twice.
package pastcache

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Look reads objects of one namespace and keeps the first error.
type Look struct {
	// Cache is asked first, API for what is not there.
	Cache, API client.Reader
	Namespace  string
	err        error
}

// Err is the first error of all gets.
func (l *Look) Err() error { return l.err }

// Get reads the object into object and returns it, or nil where there is none, and after an error.
func Get[T client.Object](ctx context.Context, look *Look, name string, object T) T {
	var none T
	if look.err != nil {
		return none
	}
	key := types.NamespacedName{Namespace: look.Namespace, Name: name}
	err := look.Cache.Get(ctx, key, object)
	if apierrors.IsNotFound(err) {
		err = look.API.Get(ctx, key, object)
	}
	switch {
	case apierrors.IsNotFound(err):
		return none
	case err != nil:
		look.err = fmt.Errorf("look at %T %s: %w", object, name, err)
		return none
	}
	return object
}

// GetIfAllowed is Get for a kind that can be done without: without the right to read it there is none, and making it will say so.
func GetIfAllowed[T client.Object](ctx context.Context, look *Look, name string, object T) T {
	own := Look{Cache: look.Cache, API: look.API, Namespace: look.Namespace, err: look.err}
	found := Get(ctx, &own, name, object)
	if !apierrors.IsForbidden(own.err) {
		look.err = own.err
	}
	return found
}
