// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

var reachClasses = []struct {
	class error
	reach topology.ReachClass
}{
	{valkeyclient.ErrUnreachable, topology.ReachUnreachable},
	{valkeyclient.ErrTimeout, topology.ReachTimeout},
	{valkeyclient.ErrTLS, topology.ReachTLS},
	{valkeyclient.ErrTooManyClients, topology.ReachFull},
	{valkeyclient.ErrAuth, topology.ReachAuth},
	{valkeyclient.ErrPermission, topology.ReachPermission},
	{valkeyclient.ErrLoading, topology.ReachLoading},
}

func (i Inspector) reach(err error) topology.Reach {
	reach := topology.Reach{Class: topology.ReachOK, When: i.Now()}
	if err == nil {
		return reach
	}
	reach.Class, reach.Text = topology.ReachError, err.Error()
	for _, known := range reachClasses {
		if errors.Is(err, known.class) {
			reach.Class = known.reach
			break
		}
	}
	return reach
}
