// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const (
	// askTimeout bounds one request to others, and askAgain is the rest between two.
	askTimeout = 20 * time.Second
	askAgain   = time.Second
)

// ask carries out what a decision asks for, in the background and one at a time: the node goes on looking meanwhile.
func (a *Agent) ask(ctx context.Context, s set, outcome decision.Outcome) {
	if outcome.Ask == decision.AskNothing {
		return
	}
	select {
	case a.asking <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-a.asking }()
		bounded, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		result, err := a.promote(bounded, s, outcome)
		a.logAsked(outcome, result, err)
		pause(ctx, askAgain)
	}()
}

// logAsked says the same thing once only.
func (a *Agent) logAsked(outcome decision.Outcome, result operation.Result, err error) {
	text := result.Summary()
	if err != nil {
		text = err.Error()
	}
	a.mu.Lock()
	repeated := a.asked == text
	a.asked = text
	a.mu.Unlock()
	if !repeated {
		a.options.Log.Info("asked for another primary", "ask", outcome.Ask, "target", outcome.Target, "done", err == nil, "result", text)
	}
}

var errMoved = errors.New("the target does not follow this node any more")

// promote makes the target primary: through the Sentinels, or itself after one more look at it, so that of two nodes that
// would do the same only the one that it follows can.
func (a *Agent) promote(ctx context.Context, s set, outcome decision.Outcome) (operation.Result, error) {
	request := operation.Request{To: outcome.Target, Mode: operation.Forced}
	if outcome.Ask == decision.AskFailover {
		request.Monitor = s.MonitorName
	} else if err := a.followsSelf(ctx, s, outcome.Target); err != nil {
		return operation.Result{}, err
	}
	return operation.Failover{Clients: a.clients}.Do(ctx, a.subject(s, nil), request)
}

func (a *Agent) followsSelf(ctx context.Context, s set, name string) error {
	for _, member := range s.Members {
		if member.Name != name {
			continue
		}
		node, err := a.clients.Node(a.target(member))
		if err != nil {
			return err
		}
		role, err := node.Role(ctx)
		if err != nil {
			return err
		}
		if s.nameOf(topology.Address(role.Primary)) != s.self.Name {
			return fmt.Errorf("%w: %s", errMoved, name)
		}
		return nil
	}
	return fmt.Errorf("%w: %s is no member", errMoved, name)
}
