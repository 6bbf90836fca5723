// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// priorityLeft is after how long another replica-priority than the configured one is what somebody left behind: a hand-over, which sets it, takes
// half a minute at most.
const priorityLeft = time.Minute

// upkeep is what the agent keeps in a server that runs, besides its users.
type upkeep struct {
	next time.Time
	// password of replication that the server was told last; empty before.
	password string
	// strange is since when the priority is not the configured one; zero while it is.
	strange time.Time
}

// keep tells the server the password of replication that is mounted, and puts back a priority that the owner of a hand-over has left behind.
func (a *Agent) keep(ctx context.Context, u *upkeep, m topology.Member) {
	now := time.Now()
	if now.Before(u.next) {
		return
	}
	u.next = now.Add(a.options.UsersEvery)
	if password, err := readPassword(a.options.PasswordsDir, naming.UserReplication); err == nil && password != "" && password != u.password {
		if a.put(ctx, "masterauth", password) {
			u.password = password
		}
	}
	config, err := a.options.baseConfig()
	if err != nil || m.Role != topology.RoleReplica || strconv.Itoa(m.Priority) == replicaPriority(config) { // a primary does not tell it
		u.strange = time.Time{}
		return
	}
	if u.strange.IsZero() {
		u.strange = now
	}
	if now.Sub(u.strange) >= priorityLeft && a.put(ctx, "replica-priority", replicaPriority(config)) {
		a.options.Log.Warn("replica-priority was put back", "was", m.Priority, "configured", replicaPriority(config))
	}
}

// put sets a directive of the own server. The value may be secret.
func (a *Agent) put(ctx context.Context, key, value string) bool {
	err := a.configure(ctx, valkeyclient.Setting{Key: key, Value: value})
	if err != nil {
		a.options.Log.Warn("setting not changed", "key", key, "err", err)
	}
	return err == nil
}
