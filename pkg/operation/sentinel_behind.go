// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"context"
	"fmt"
	"strconv"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// behind is whom the Sentinels name while it follows the wanted target, which is primary already: they have not heard of its promotion, and
// promote it once more. Empty where it is not so.
func behind(snapshot topology.Snapshot, request Request) string {
	if request.Monitor == "" || request.To == "" {
		return ""
	}
	named, _ := snapshot.Member(snapshot.SentinelPrimary(request.Monitor).Member)
	to, _ := snapshot.Member(request.To)
	if !named.Reach.OK() || named.Role != topology.RoleReplica || to.Role != topology.RolePrimary || !to.Is(named.Primary) {
		return ""
	}
	return named.Name
}

// disfavourOthers is chooseTarget for a target that is primary already. A primary does not tell its replica-priority, and Sentinel goes by the last
// that it was told: that of the others is raised above it, until the end.
func (s *change) disfavourOthers(ctx context.Context) error {
	s.attempt(ctx, "shorten the Sentinel's INFO period", s.limits.Step, s.shortenInfoPeriod)
	return s.step(ctx, "choose the target", s.limits.Prepare, func(ctx context.Context) error {
		seen, err := s.seenTarget(ctx)
		if err != nil {
			return err
		}
		for name, node := range s.others {
			m, _ := s.snapshot.Member(name)
			if !m.Reach.OK() || m.Priority == 0 || m.Priority > seen.Priority {
				continue
			}
			s.atEnd("restore the priority of "+name, func(ctx context.Context) error { return setPriority(ctx, node, m.Priority) })
			if err := setPriority(ctx, node, seen.Priority+1); err != nil {
				return err
			}
		}
		return await(ctx, leisurely, func(ctx context.Context) (bool, error) {
			rivals, err := s.rivals(ctx)
			for _, rival := range rivals {
				if rival.Priority <= seen.Priority {
					return false, fmt.Errorf("%s has replica-priority %d", rival.Address, rival.Priority)
				}
			}
			return err == nil, err
		})
	})
}

func setPriority(ctx context.Context, node valkeyclient.Node, priority int) error {
	return node.ConfigSet(ctx, valkeyclient.Setting{Key: "replica-priority", Value: strconv.Itoa(priority)})
}
