// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"encoding/json"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// refusalLasts is how long what the API has refused for good is not tried again, unless it has changed.
const refusalLasts = 30 * time.Second

// refusals is what the API has refused of one set. A right that is missing, or a fragment of the spec that it does not accept, must not slow
// down what has nothing to do with it, nor be asked for again with every look.
type refusals struct{ by map[string]refused }

type refused struct {
	hash string
	err  error
	at   time.Time
}

// isForGood tells whether asking again at once would be answered in the same way.
func isForGood(err error) bool {
	return apierrors.IsForbidden(err) && !isEnd(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
}

// of is the answer to an apply that need not be made, and nil for one that has to be.
func (r *refusals) of(action plan.Apply, now time.Time) error {
	known, ok := r.by[key(action)]
	if !ok || known.hash != hash(action) || now.Sub(known.at) >= refusalLasts {
		return nil
	}
	return known.err
}

// note remembers a refusal.
func (r *refusals) note(action plan.Apply, err error, now time.Time) {
	if !isForGood(err) {
		return
	}
	if r.by == nil {
		r.by = map[string]refused{}
	}
	r.by[key(action)] = refused{hash: hash(action), err: errRefusal{err}, at: now}
}

// errRefusal marks what must not be retried at once.
type errRefusal struct{ error }

func (e errRefusal) Unwrap() error { return e.error }

func isRefusal(err error) bool {
	var refusal errRefusal
	return errors.As(err, &refusal) || isForGood(err)
}

func key(action plan.Apply) string { return string(action.Kind) + "/" + action.Name }

func hash(action plan.Apply) string {
	text, err := json.Marshal(action.Config)
	if err != nil {
		return ""
	}
	return valkeyconf.Hash(string(text))
}
