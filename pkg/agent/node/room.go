// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"slices"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// makeRoom cuts off the clients of a server that has as many as it may and refuses their writes: neither a replica nor whoever is to confirm or
// demote it could connect. The product's own connections stay.
func (a *Agent) makeRoom(ctx context.Context) {
	node, err := a.clients.Node(a.own(a.login()))
	if err != nil {
		return
	}
	clients, err := node.ClientList(ctx)
	if err != nil {
		a.options.Log.Warn("no room is made on a server that has all the clients it may", "err", err)
		return
	}
	var users []string
	for _, client := range clients {
		if !slices.Contains(naming.SystemUsers(), client.User) && !slices.Contains(users, client.User) {
			users = append(users, client.User)
		}
	}
	count := 0
	for _, user := range users {
		killed, err := node.ClientKillUser(ctx, user)
		if err != nil {
			a.options.Log.Warn("clients are not cut off", "user", user, "err", err)
		}
		count += killed
	}
	a.options.Log.Warn("clients were cut off: they had all the connections that maxclients allows, and their writes are refused", "count", count)
}
