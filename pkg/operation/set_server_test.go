// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/operation"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func credentials(user string) valkeyclient.Credentials {
	return valkeyclient.Credentials{Username: user, Password: "pw-of-" + user}
}

func acl(t *testing.T, makeUser func(string, ...string) (valkeyconf.User, bool), names []string, others ...valkeyconf.User) []string {
	t.Helper()
	lines := []string{}
	for _, name := range names {
		user, _ := makeUser(name, valkeyconf.HashPassword(credentials(name).Password))
		others = append(others, user)
	}
	for _, user := range others {
		line, err := user.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// startSet starts a set as the product runs it: with its users and nothing more, and Sentinel's usual periods.
func startSet(t *testing.T, binary valkeytest.Binary, replicas, sentinels int) *valkeytest.Set {
	t.Helper()
	sentinelUser, replicationUser, peer := credentials(naming.UserSentinel), credentials(naming.UserReplication), credentials(naming.UserPeer)
	return valkeytest.StartSet(t, valkeytest.SetOptions{
		Binary: binary, Replicas: replicas, Sentinels: sentinels,
		NodeACL: acl(t, valkeyconf.NodeUser, naming.SystemUsers(), valkeyconf.OpenNodeDefault()), NodeUser: credentials(naming.UserOperator),
		NodeConfig:     []string{"masteruser " + replicationUser.Username, "masterauth " + replicationUser.Password},
		SentinelACL:    acl(t, valkeyconf.SentinelUser, naming.SentinelSystemUsers(), valkeyconf.OpenSentinelDefault()),
		SentinelUser:   credentials(naming.UserOperator),
		SentinelConfig: []string{"sentinel sentinel-user " + peer.Username, "sentinel sentinel-pass " + peer.Password},
		MonitorSettings: []valkeyclient.Setting{
			{Key: "auth-user", Value: sentinelUser.Username}, {Key: "auth-pass", Value: sentinelUser.Password},
		},
	})
}

// subject is the set as somebody with that user's rights looks at it.
func subject(set *valkeytest.Set, user string) inspect.Subject {
	var s inspect.Subject
	for _, node := range set.Nodes {
		s.Members = append(s.Members, inspect.Member{Target: node.TargetAs(credentials(user))})
	}
	for _, sentinel := range set.Sentinels {
		s.Sentinels = append(s.Sentinels, sentinel.TargetAs(credentials(user)))
	}
	return s
}

// failOver carries out the request with the user's rights and 25 s. announce may be nil.
func failOver(t *testing.T, set *valkeytest.Set, user string, request operation.Request, announce func(string)) (operation.Result, error) {
	t.Helper()
	return failOverWithin(t, set, operation.Limits{}, user, request, announce)
}

// failOverWithin is failOver with other limits than the usual.
func failOverWithin(
	t *testing.T, set *valkeytest.Set, limits operation.Limits, user string, request operation.Request, announce func(string),
) (operation.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	clients := valkeyclient.New(valkeyclient.Options{})
	defer clients.Close()
	result, err := operation.Failover{Clients: clients, Limits: limits, Announce: announce}.Do(ctx, subject(set, user), request)
	t.Logf("%s: %s (paused %s, %v)", user, result.Summary(), result.Paused.Round(time.Millisecond), err)
	for _, step := range result.Steps {
		t.Logf("    %-36s %8s  %s", step.Name, step.Took.Round(time.Millisecond), step.Err)
	}
	return result, err
}

func nodeNamed(t *testing.T, set *valkeytest.Set, name string) *valkeytest.Process {
	t.Helper()
	for _, node := range set.Nodes {
		if node.Name == name {
			return node
		}
	}
	t.Fatalf("no node %q", name)
	return nil
}

// startLoad starts two writers and waits until every replica gets what they write.
func startLoad(t *testing.T, set *valkeytest.Set, locate valkeytest.Locate) *valkeytest.Load {
	t.Helper()
	load := valkeytest.StartLoad(t, 2, locate)
	set.AwaitReplicas(t)
	return load
}

// awaitWrites waits until the load has had as many more writes acknowledged.
func awaitWrites(t *testing.T, load *valkeytest.Load, more int) {
	t.Helper()
	goal := load.Acknowledged() + more
	valkeytest.Eventually(t, "writes go on", func(context.Context) error {
		if n := load.Acknowledged(); n < goal {
			return fmt.Errorf("%d of %d", n, goal)
		}
		return nil
	})
}

// assertNothingLost stops the load and reads everything back from whoever is primary at last.
func assertNothingLost(t *testing.T, set *valkeytest.Set, load *valkeytest.Load, primary string) {
	t.Helper()
	load.Stop()
	if lost := load.Lost(t, nodeNamed(t, set, primary)); lost != 0 {
		t.Errorf("%d of %d acknowledged writes lost", lost, load.Acknowledged())
	}
}
