// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/storage"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// refreshParallel is how many ValkeySentinels are asked at a time.
const refreshParallel = 16

// refresh looks at all sets of a namespace (empty: of all), and returns when the oldest of the looks was made: now if there is no set.
// It fails if there are sets and no Sentinel of them answers.
func (f *Feed) refresh(ctx context.Context, namespace string) (time.Time, error) {
	sets, err := f.list(ctx, namespace)
	if err != nil {
		return time.Time{}, err
	}
	looks, errs := make([]Look, len(sets)), make([]error, len(sets))
	turn := make(chan struct{}, refreshParallel)
	var all sync.WaitGroup
	for i, set := range sets {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			looks[i], errs[i] = f.source.Look(ctx, set, false)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return time.Time{}, errs[firstFailed(errs)]
	}
	oldest, answered := f.clock.Now(), len(sets) == 0
	for i, set := range sets {
		f.apply(set.UID, looks[i])
		answered = answered || looks[i].Unanswered == nil
		if at := looks[i].List.ObservedAt.Time; at.Before(oldest) {
			oldest = at
		}
	}
	if !answered {
		return oldest, unanswered(looks)
	}
	return oldest, nil
}

func firstFailed(errs []error) int {
	for i, err := range errs {
		if err != nil {
			return i
		}
	}
	return 0
}

// list is the sets of a namespace. What was known of others is forgotten.
func (f *Feed) list(ctx context.Context, namespace string) ([]*v1alpha1.ValkeySentinel, error) {
	began := f.clock.Now()
	sets, err := f.source.Sets(ctx, namespace)
	if err != nil {
		return nil, err
	}
	present := map[types.UID]bool{}
	for _, set := range sets {
		present[set.UID] = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell(f.state.retain(namespace, present, began, f.clock.Now()))
	return sets, nil
}

// unanswered is one error of several.
func unanswered(looks []Look) error {
	if len(looks) == 1 {
		return looks[0].Unanswered
	}
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: "no Sentinel of any ValkeySentinel answers", Details: &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: "monitors"},
	}
	for i := range looks {
		var one apierrors.APIStatus
		if errors.As(looks[i].Unanswered, &one) && one.Status().Details != nil {
			status.Details.RetryAfterSeconds = one.Status().Details.RetryAfterSeconds
			status.Details.Causes = append(status.Details.Causes, one.Status().Details.Causes...)
		}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func tooLarge(wanted, current version) error {
	return storage.NewTooLargeResourceVersionError(uint64(wanted), uint64(current), 1)
}
