// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"context"
	"errors"

	"github.com/valkey-io/valkey-go"
)

// errEnded stands for a subscription that ended without the library naming a reason.
var errEnded = errors.New("connection closed")

func (s *sentinel) Subscribe(ctx context.Context, handle func(Event)) error {
	r := query("PSUBSCRIBE")
	connection, err := s.client.options.openSubscription(s.target)
	if err != nil {
		return s.failure(ctx, r, err)
	}
	defer connection.Close()

	// The library calls back from two goroutines, and must not be held up by the first: all goes through
	// one queue. The confirmation is first in it, since the library reads no message before it returns.
	events := make(chan Event, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- receive(ctx, connection, events)
		close(events)
	}()
	for event := range events {
		handle(event)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.failure(ctx, r, <-ended)
}

func receive(ctx context.Context, connection valkey.Client, events chan<- Event) error {
	confirmed := valkey.WithOnSubscriptionHook(ctx, func(subscription valkey.PubSubSubscription) {
		if subscription.Kind == "psubscribe" {
			events <- Event{Kind: EventSubscribed}
		}
	})
	pattern := connection.B().Psubscribe().Pattern("*").Build()
	err := connection.Receive(confirmed, pattern, func(message valkey.PubSubMessage) {
		if message.Channel != sentinelHello {
			events <- parseEvent(message.Channel, message.Message)
		}
	})
	if err == nil {
		err = errEnded
	}
	return err
}

// sentinelHello is where Sentinels talk to each other through a data node; a Sentinel hears its own.
const sentinelHello = "__sentinel__:hello"
