// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
)

// The rules on lists whose entries must differ compare each with each, and the text of an error is built anew with every error that is
// added. Without bounds one request of a few hundred kilobytes keeps the server busy for minutes, and all others waiting.
const (
	// longestList is how many entries a list within a spec may have.
	longestList = 1000
	// mostEntries is how many all lists within a spec may have together.
	mostEntries = 20000
	// mostErrors is how many errors are told.
	mostErrors = 100
)

// ValidateDeclaratively runs the declared rules on what has bounds.
func (s Strategy[O, S, T]) ValidateDeclaratively(ctx context.Context, object, old runtime.Object, errs field.ErrorList, what operation.Type, config rest.DeclarativeValidationConfig) field.ErrorList {
	spec, _ := s.kind.Parts(object.(O))
	var oldSpec *S
	if old != nil {
		oldSpec, _ = s.kind.Parts(old.(O))
	}
	if long := boundErrors(field.NewPath("spec"), spec, oldSpec); len(long) > 0 {
		return append(errs, long...)
	}
	return theFirst(s.DeclarativeValidation.ValidateDeclaratively(ctx, object, old, errs, what, config))
}

// theFirst leaves of very many errors those that a person will read.
func theFirst(errs field.ErrorList) field.ErrorList {
	if len(errs) <= mostErrors {
		return errs
	}
	rest := fmt.Sprintf("there are %d more errors, which are not listed", len(errs)-mostErrors)
	return append(errs[:mostErrors:mostErrors], field.Forbidden(field.NewPath("spec"), rest))
}

// boundErrors is about lists that are too long, unless they were as long before.
func boundErrors[S any](path *field.Path, spec, old *S) field.ErrorList {
	found, before := &lists{}, &lists{}
	found.walk(path, reflect.ValueOf(spec), reflect.ValueOf(old))
	if old != nil {
		before.walk(path, reflect.ValueOf(old), reflect.Value{})
	}
	if len(found.errs) == 0 && found.entries > mostEntries && found.entries > before.entries {
		return field.ErrorList{field.TooMany(path, found.entries, mostEntries)}
	}
	return theFirst(found.errs)
}

// lists is what a walk through a spec finds.
type lists struct {
	entries int
	errs    field.ErrorList
}

// walk visits every list in value. Old is what was there before, and not valid where nothing was.
func (l *lists) walk(path *field.Path, value, old reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if value.IsNil() {
			return
		}
		if old.IsValid() {
			old = old.Elem()
		}
		l.walk(path, value.Elem(), old)
	case reflect.Struct:
		for i := range value.NumField() {
			if part := value.Type().Field(i); part.IsExported() {
				l.walk(path.Child(inManifest(part)), value.Field(i), ofOld(old, func() reflect.Value { return old.Field(i) }))
			}
		}
	case reflect.Slice:
		l.list(path, value, old)
	}
}

func (l *lists) list(path *field.Path, value, old reflect.Value) {
	length, before := value.Len(), 0
	if old.IsValid() {
		before = old.Len()
	}
	l.entries += length
	if length > longestList && length > before {
		l.errs = append(l.errs, field.TooMany(path, length, longestList))
		return
	}
	for i := range length {
		l.walk(path.Index(i), value.Index(i), ofOld(old, func() reflect.Value {
			if i < before {
				return old.Index(i)
			}
			return reflect.Value{}
		}))
	}
}

func ofOld(old reflect.Value, part func() reflect.Value) reflect.Value {
	if !old.IsValid() {
		return old
	}
	return part()
}

// inManifest is how a field is called in a manifest. Our internal types have no names of their own for that.
func inManifest(part reflect.StructField) string {
	if name, _, _ := strings.Cut(part.Tag.Get("json"), ","); name != "" {
		return name
	}
	capitals := len(part.Name) - len(strings.TrimLeftFunc(part.Name, unicode.IsUpper))
	if capitals > 1 && capitals < len(part.Name) {
		capitals--
	}
	return strings.ToLower(part.Name[:capitals]) + part.Name[capitals:]
}
