// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// undoLimit bounds each step that undoes another. It runs also when the caller's context has ended.
const undoLimit = 2 * time.Second

// journal runs steps, remembers them, and undoes.
type journal struct {
	announce func(string)
	steps    []Step
	undo     []undoStep
}

type undoStep struct {
	name string
	// always: also when everything succeeded.
	always bool
	do     func(ctx context.Context) error
}

// step runs one step, bounded by limit.
func (j *journal) step(ctx context.Context, name string, limit time.Duration, do func(ctx context.Context) error) error {
	if j.announce != nil {
		j.announce(name)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	err := do(ctx)
	step := Step{Name: name, Took: time.Since(began)}
	if err != nil {
		step.Err = err.Error()
		err = fmt.Errorf("%s: %w", name, err)
	}
	j.steps = append(j.steps, step)
	return err
}

// attempt runs a step whose failure does not matter to those that follow.
func (j *journal) attempt(ctx context.Context, name string, limit time.Duration, do func(ctx context.Context) error) {
	if err := j.step(ctx, name, limit, do); err != nil {
		j.steps[len(j.steps)-1].optional = true
	}
}

// onFailure registers how to undo, if the whole fails.
func (j *journal) onFailure(name string, do func(ctx context.Context) error) {
	j.undo = append(j.undo, undoStep{name: name, do: do})
}

// atEnd registers what is to be put back however the whole ends.
func (j *journal) atEnd(name string, do func(ctx context.Context) error) {
	j.undo = append(j.undo, undoStep{name: name, always: true, do: do})
}

// forgetUndo drops what would be undone on failure: from here on the change is not taken back.
func (j *journal) forgetUndo() {
	j.undo = slices.DeleteFunc(j.undo, func(step undoStep) bool { return !step.always })
}

// undoAll undoes in reverse order.
func (j *journal) undoAll(ctx context.Context, failed bool) {
	ctx = context.WithoutCancel(ctx)
	for i := len(j.undo) - 1; i >= 0; i-- {
		if step := j.undo[i]; failed || step.always {
			j.attempt(ctx, step.name, undoLimit, step.do)
			j.steps[len(j.steps)-1].Undoes = true
		}
	}
	j.undo = nil
}

// await asks every interval until the answer is yes, and fails when ctx ends, with the last error or what was seen last.
func await(ctx context.Context, interval time.Duration, ask func(ctx context.Context) (done bool, err error)) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		done, err := ask(ctx)
		if done && err == nil {
			return nil
		}
		timer.Reset(interval)
		select {
		case <-timer.C:
		case <-ctx.Done():
			if err != nil {
				return fmt.Errorf("%w: %w", ctx.Err(), err)
			}
			return ctx.Err()
		}
	}
}
