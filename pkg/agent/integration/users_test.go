// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// byHand is what somebody with all rights tells the running server.
func (p *pod) byHand(words ...string) {
	p.set.t.Helper()
	if answer := p.as(adminUser, words...); strings.HasPrefix(answer, "-") {
		p.set.t.Fatalf("%v: %s", words, answer)
	}
}

// as is the first line of the answer to a user that has just logged in.
func (p *pod) as(user string, words ...string) string {
	p.set.t.Helper()
	return p.loggedIn(user, password, words...)
}

func (p *pod) loggedIn(user, password string, words ...string) string {
	p.set.t.Helper()
	connection, err := net.DialTimeout("tcp", p.address.String(), valkeytest.Patience)
	p.set.must(err)
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(valkeytest.Patience))
	_, _ = fmt.Fprintf(connection, "AUTH %s %s\r\n%s\r\n", user, password, strings.Join(words, " "))
	reader := bufio.NewReader(connection)
	answer, err := reader.ReadString('\n')
	if err == nil && strings.HasPrefix(answer, "+OK") {
		answer, err = reader.ReadString('\n')
	}
	p.set.must(err)
	return strings.TrimSpace(answer)
}

// A password of the controller's that is changed by hand on a server is put back, without anybody's help.
func TestUserThatIsChangedByHand(t *testing.T) {
	t.Parallel()
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		s := up(t, options{mode: decision.ModeNone, replicas: 1, config: withoutPersistence, flags: []string{"--users-every", "200ms"}, binary: binary}, keys)
		for _, change := range [][]string{{naming.UserOperator, "resetpass", ">other"}, {naming.UserOperator, "off"}, {naming.UserReplication, "resetpass", ">other"}} {
			s.nodes[0].byHand(append([]string{"ACL", "SETUSER"}, change...)...)
			s.eventually(change[0]+" logs in", func(context.Context) error {
				if answer := s.nodes[0].as(change[0], "PING"); answer != "+PONG" {
					return errors.New(answer)
				}
				return nil
			})
		}
		s.eventually("the agent says that it loaded the file three times", func(context.Context) error {
			if got := strings.Count(s.nodes[0].log(), "the ACL file was loaded"); got != 3 {
				return fmt.Errorf("%d times", got)
			}
			return nil
		})
		s.awaitWhole(s.nodes[0], s.nodes[1])
	})
}

// The Secrets were lost and drawn anew: file and passwords that are mounted are new, while the server knows the old ones only.
func TestPasswordsThatAreDrawnAnew(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeNone, replicas: 1, config: withoutPersistence, flags: []string{"--users-every", "200ms"}}, keys)
	const fresh = "abcdefghijklmnopqrstuvwxyz012345"
	operator := func(p *pod) (valkeyclient.Node, error) {
		target := p.target(naming.UserOperator)
		target.Credentials.Password = fresh
		return s.client.Node(target)
	}
	for _, p := range s.nodes {
		file := s.acl(naming.SystemUsers(), valkeyconf.NodeUser, valkeyconf.OpenNodeDefault())
		p.put("passwords/"+naming.UserAgent, fresh)
		p.put("passwords/"+naming.UserReplication, fresh)
		p.put("acl/"+naming.KeyACL, strings.ReplaceAll(file, valkeyconf.HashPassword(password), valkeyconf.HashPassword(fresh)))
	}
	for _, p := range s.nodes {
		s.eventually("the new password works on "+p.name, func(ctx context.Context) error {
			node, err := operator(p)
			if err == nil {
				_, err = node.Role(ctx)
			}
			return err
		})
	}
	// A replica that ran before can link again, too.
	if answer := s.nodes[0].loggedIn(naming.UserOperator, fresh, "CLIENT", "KILL", "TYPE", "replica"); strings.HasPrefix(answer, "-") {
		t.Fatal(answer)
	}
	s.eventually("what is written reaches the replica", func(ctx context.Context) error {
		node, err := operator(s.nodes[1])
		if err != nil {
			return err
		}
		replication, err := node.Replication(ctx)
		if err == nil && !replication.LinkUp {
			err = errors.New("the link is down")
		}
		return err
	})
}

// Every user of the product is gone from a server. It is restarted, a replica before the primary, and nothing is lost.
func TestServerThatLetsNobodyIn(t *testing.T) {
	t.Parallel()
	s := up(t, options{mode: decision.ModeNone, replicas: 1, config: withoutPersistence, flags: []string{"--wait-locked", "1ms"}}, keys)
	replica := s.nodes[1]
	replica.byHand("ACL", "DELUSER", naming.UserOperator, naming.UserAgent) // which closes their connections, too
	began := time.Now()
	replica.awaitExit(0)
	t.Logf("ended after %s", time.Since(began).Round(time.Millisecond))
	replica.start()
	s.awaitWhole(s.nodes[0], replica)
	s.expectKeys(replica, keys)

	// The only one of its kind, with nothing on disk, is left alone.
	replica.kill()
	s.nodes[0].byHand("ACL", "DELUSER", naming.UserAgent)
	s.eventually("it says why it is not restarted", func(context.Context) error {
		if log := s.nodes[0].log(); !strings.Contains(log, "is not restarted") {
			return fmt.Errorf("nothing is said")
		}
		return nil
	})
	s.expectKeys(s.nodes[0], keys)
}
