// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// tellSentinel sends one Sentinel what the plan has for it, in order. After a failure that is not about the value itself, nothing more is
// sent: the next look shows what is left to do.
func (r *reconciler) tellSentinel(ctx context.Context, target valkeyclient.Target, numbers []int, outcomes []plan.Outcome) {
	client, err := r.deps.Valkey.Sentinel(target)
	for _, n := range numbers {
		outcome := &outcomes[n]
		if err != nil {
			outcome.Err, outcome.Skipped = err, true
			continue
		}
		outcome.Err = send(ctx, client, outcome.Action)
		outcome.Refused = refusal(outcome)
		if outcome.Err != nil && outcome.Refused == "" {
			err = outcome.Err
		}
	}
}

// send makes one request. That a monitor is there already, or gone already, is a state and not a failure: the next look tells which.
func send(ctx context.Context, client valkeyclient.Sentinel, action plan.Action) error {
	switch action := action.(type) {
	case plan.Register:
		err := client.Register(ctx, valkeyclient.Registration{
			Name: action.Monitor, Primary: valkeyclient.Address(action.Primary), Quorum: action.Quorum,
		})
		return except(err, valkeyclient.ErrDuplicateMonitor)
	case plan.SetCredentials:
		err := client.Set(ctx, action.Monitor,
			valkeyclient.Setting{Key: "auth-user", Value: action.User},
			valkeyclient.Setting{Key: "auth-pass", Value: string(action.Password)})
		return except(err, valkeyclient.ErrNoSuchMonitor)
	case plan.SetSetting:
		err := client.Set(ctx, action.Monitor, valkeyclient.Setting{Key: action.Key, Value: action.Value})
		return except(err, valkeyclient.ErrNoSuchMonitor)
	case plan.Remove:
		return except(client.Remove(ctx, action.Monitor), valkeyclient.ErrNoSuchMonitor)
	default:
		return fmt.Errorf("unknown action %T", action)
	}
}

func except(err, state error) error {
	if errors.Is(err, state) {
		return nil
	}
	return err
}

// refusal is a Sentinel's words about a setting that it does not want; empty for everything else.
func refusal(outcome *plan.Outcome) string {
	if _, isSetting := outcome.Action.(plan.SetSetting); !isSetting || !errors.Is(outcome.Err, valkeyclient.ErrInvalid) {
		return ""
	}
	// Without the target, the words of all Sentinels are the same.
	_, words, found := strings.Cut(outcome.Err.Error(), valkeyclient.ErrInvalid.Error()+": ")
	if !found {
		return outcome.Err.Error()
	}
	return words
}

// reset makes one Sentinel forget. The names hold no wildcards.
func (r *reconciler) reset(ctx context.Context, target valkeyclient.Target, action plan.Reset) error {
	client, err := r.deps.Valkey.Sentinel(target)
	if err != nil {
		return err
	}
	for _, monitor := range action.Monitors {
		if _, err := client.Reset(ctx, monitor); err != nil {
			return err
		}
	}
	return nil
}
