// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// All makes whatever of the cache is missing: packages first, because they are quick and others can use them, then the
// programs. sources is the hack/cluster folder of a checkout.
func (c Cache) All(sources string, out io.Writer) error {
	sets, programs := c.missing()
	if len(sets)+len(programs) == 0 {
		return nil
	}
	if len(programs) > 0 {
		if _, err := os.Stat(filepath.Join(sources, "kubernetes", "go.mod")); err != nil {
			return errors.New("sources not found: run from the checkout, or name its hack/cluster folder with --sources")
		}
	}
	progress := NewProgress(out, len(sets)+len(programs))
	for _, set := range sets {
		name := "downloading " + strings.Join(set.packages, ", ") + " of Debian " + set.suite
		if err := progress.Step(name, func() error { return c.unpack(set) }); err != nil {
			return err
		}
	}
	for _, p := range programs {
		name := "compiling " + p.name
		if p.note != "" {
			name += " (" + p.note + ")"
		}
		if err := progress.Step(name, func() error { return c.compile(sources, p) }); err != nil {
			return err
		}
	}
	return nil
}

// missing lists what All has to do.
func (c Cache) missing() (sets []debianSet, programs []compiled) {
	for _, set := range debianSets() {
		if !set.onDemand && !c.hasSet(set) {
			sets = append(sets, set)
		}
	}
	for _, p := range c.programs() {
		if !isWhole(p.target) {
			programs = append(programs, p)
		}
	}
	return sets, programs
}
