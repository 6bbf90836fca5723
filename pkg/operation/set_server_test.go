// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation_test

import (
	"context"
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

// failOver carries out the request with the user's rights and 25 s.
func failOver(t *testing.T, set *valkeytest.Set, user string, request operation.Request) (operation.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
	defer cancel()
	failover := operation.Failover{Clients: valkeyclient.New(valkeyclient.Options{})}
	return failover.Do(ctx, subject(set, user), request)
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

func logSteps(t *testing.T, result operation.Result) {
	t.Helper()
	for _, step := range result.Steps {
		t.Logf("%-38s %8s  %s", step.Name, step.Took.Round(time.Millisecond), step.Err)
	}
}
