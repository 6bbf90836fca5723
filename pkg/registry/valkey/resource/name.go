// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/storage/names"
)

// lengthDrawn is how many characters are drawn and put behind metadata.generateName.
const lengthDrawn = 5

// drawnNames makes names from metadata.generateName that are no longer than a name of the kind may be: as for built-in kinds, what
// is too long is cut and not refused, since nobody wrote the name by hand.
type drawnNames struct{ longest int }

// GenerateName is base, as far as there is room for it, and what is drawn.
func (d drawnNames) GenerateName(base string) string {
	return names.SimpleNameGenerator.GenerateName(base[:min(len(base), d.longest-lengthDrawn)])
}

// nameErrors checks that a name, put into those of an object's children, leaves them DNS labels.
func nameErrors(name string, longest int) field.ErrorList {
	path := field.NewPath("metadata", "name")
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "name or generateName is required")}
	case len(name) > longest:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"must be no more than %d characters, so that the names of what is made for it are DNS labels; it has %d", longest, len(name)))}
	}
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSLabel(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}
