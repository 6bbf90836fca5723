// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// A server that takes no more connections is told apart from one that is gone, each time; a client that is connected goes on.
func TestAServerWithoutRoomForAnotherClient(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, Name: "crowded", Config: []string{"maxclients 20"}})
		before := server.Node()
		if err := before.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		crowd := valkeytest.StartCrowd(t, server.Address)
		for n := range 100 {
			if err := ask(t.Context(), server.Target()); !errors.Is(err, valkeyclient.ErrTooManyClients) {
				t.Fatalf("try %d: %v", n, err)
			}
		}
		status, err := before.Status(t.Context())
		if err != nil || status.Clients != 20 || status.MaxClients != 20 {
			t.Errorf("%+v, %v", status, err)
		}
		// More calls at a time than it has connections: some are refused, and the connection that there is stays.
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { _ = before.Ping(t.Context()) })
		}
		all.Wait()
		if err := before.Ping(t.Context()); err != nil {
			t.Errorf("the connection was given up: %v", err)
		}
		crowd.Leave()
		valkeytest.Eventually(t, "there is room again", func(ctx context.Context) error {
			return ask(ctx, server.Target())
		})
	})
}

// ask makes a connection of its own.
func ask(ctx context.Context, target valkeyclient.Target) error {
	client := valkeyclient.New(valkeyclient.Options{})
	defer client.Close()
	node, err := client.Node(target)
	if err == nil {
		_, err = node.Status(ctx)
	}
	return err
}
