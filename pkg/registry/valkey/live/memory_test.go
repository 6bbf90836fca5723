// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestCallersAtOnceShareOneLook(t *testing.T) {
	memory := &Memory[string, int]{Clock: testclock.NewFakePassiveClock(time.Unix(1, 0)), For: time.Second, Deadline: time.Minute}
	var looks atomic.Int32
	release := make(chan struct{})
	ask := func(context.Context) (int, error) {
		looks.Add(1)
		<-release
		return 7, nil
	}
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if got, err := memory.Get(t.Context(), "a", ask); got != 7 || err != nil {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	close(release)
	callers.Wait()
	if looks.Load() != 1 {
		t.Errorf("%d looks for 20 callers", looks.Load())
	}
}

func TestAnswersAreGivenAgainForAWhile(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(1, 0))
	memory := &Memory[string, int32]{Clock: clock, For: time.Second, Deadline: time.Minute}
	var looks atomic.Int32
	get := func(key string) int32 {
		t.Helper()
		got, err := memory.Get(t.Context(), key, func(context.Context) (int32, error) { return looks.Add(1), nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if first, again := get("a"), get("a"); first != 1 || again != 1 {
		t.Errorf("got %d, then %d", first, again)
	}
	if other := get("b"); other != 2 {
		t.Errorf("another key: got %d", other)
	}
	clock.Step(time.Second)
	if later := get("a"); later != 3 {
		t.Errorf("a second later: got %d", later)
	}
	if len(memory.looks) != 1 {
		t.Errorf("%d answers are kept", len(memory.looks))
	}
}

func TestFailuresAreNotRemembered(t *testing.T) {
	memory := &Memory[string, int]{Clock: testclock.NewFakePassiveClock(time.Unix(1, 0)), For: time.Hour, Deadline: time.Minute}
	failure := errors.New("no")
	if _, err := memory.Get(t.Context(), "a", func(context.Context) (int, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	if got, err := memory.Get(t.Context(), "a", func(context.Context) (int, error) { return 1, nil }); got != 1 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestALookOutlivesTheCallerThatBeganIt(t *testing.T) {
	memory := &Memory[string, int]{Clock: testclock.NewFakePassiveClock(time.Unix(1, 0)), For: time.Hour, Deadline: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	looking, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := memory.Get(ctx, "a", func(ctx context.Context) (int, error) {
			close(looking)
			<-release
			return 1, ctx.Err()
		})
		first <- err
	}()
	<-looking
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller that went away got %v", err)
	}
	close(release)
	if got, err := memory.Get(t.Context(), "a", func(context.Context) (int, error) { return 2, nil }); got != 1 || err != nil {
		t.Errorf("the next caller got %d, %v", got, err)
	}
}

// A look that began before something happened is no answer to who asks because it happened, nor to who comes later.
func TestARenewedLookReplacesOneUnderWay(t *testing.T) {
	memory := &Memory[string, int]{Clock: testclock.NewFakePassiveClock(time.Unix(1, 0)), For: time.Hour, Deadline: time.Minute}
	looking, release := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := memory.Get(t.Context(), "a", func(context.Context) (int, error) {
			close(looking)
			<-release
			return 0, errors.New("the old look fails")
		})
		first <- err
	}()
	<-looking
	if got, err := memory.Renew(t.Context(), "a", func(context.Context) (int, error) { return 2, nil }); got != 2 || err != nil {
		t.Errorf("renewed: %d, %v", got, err)
	}
	close(release)
	if err := <-first; err == nil {
		t.Error("the first caller got another look")
	}
	if got, err := memory.Get(t.Context(), "a", func(context.Context) (int, error) { return 3, nil }); got != 2 || err != nil {
		t.Errorf("later: %d, %v", got, err)
	}
}
