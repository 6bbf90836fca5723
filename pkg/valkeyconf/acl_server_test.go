// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// password of a user in these tests.
func password(user string) string { return "pw-of-" + user }

func credentials(user string) valkeyclient.Credentials {
	return valkeyclient.Credentials{Username: user, Password: password(user)}
}

var nodeUserNames = []string{
	naming.UserOperator, naming.UserAPIServer, naming.UserAgent, naming.UserReplication, naming.UserSentinel,
	naming.UserExporter,
}

var sentinelUserNames = []string{
	naming.UserOperator, naming.UserAPIServer, naming.UserAgent, naming.UserPeer, naming.UserExporter,
}

func aclLines(t *testing.T, makeUser func(string, ...string) (valkeyconf.User, bool), names []string, others ...valkeyconf.User) []string {
	t.Helper()
	users := slices.Clone(others)
	for _, name := range names {
		user, known := makeUser(name, valkeyconf.HashPassword(password(name)))
		if !known {
			t.Fatalf("no rules for %s", name)
		}
		users = append(users, user)
	}
	text, err := valkeyconf.RenderACL(users)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

func nodeACL(t *testing.T) []string {
	return aclLines(t, valkeyconf.NodeUser, nodeUserNames, valkeyconf.OpenNodeDefault())
}

func sentinelACL(t *testing.T) []string {
	return aclLines(t, valkeyconf.SentinelUser, sentinelUserNames, valkeyconf.OpenSentinelDefault())
}

func setOptions(t *testing.T, binary valkeytest.Binary) valkeytest.SetOptions {
	return valkeytest.SetOptions{
		Binary: binary, Replicas: 2, Sentinels: 3, Hurry: true,
		NodeACL: nodeACL(t), NodeUser: credentials(naming.UserOperator),
		NodeConfig: []string{
			"masteruser " + naming.UserReplication, "masterauth " + password(naming.UserReplication),
		},
		SentinelACL: sentinelACL(t), SentinelUser: credentials(naming.UserOperator),
		SentinelConfig: []string{
			"sentinel sentinel-user " + naming.UserPeer, "sentinel sentinel-pass " + password(naming.UserPeer),
		},
		MonitorSettings: []valkeyclient.Setting{
			{Key: "auth-user", Value: naming.UserSentinel}, {Key: "auth-pass", Value: password(naming.UserSentinel)},
		},
	}
}

// The whole set works with nothing but the product's own users: replication, discovery, an automatic failover, and the
// return of the old primary as a replica.
func TestAutomaticFailoverWithSystemUsers(t *testing.T) {
	for _, dual := range []string{"no", "yes"} {
		t.Run("dual-channel-"+dual, func(t *testing.T) {
			valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
				t.Parallel() // mostly waiting
				options := setOptions(t, binary)
				options.NodeConfig = append(options.NodeConfig, "dual-channel-replication-enabled "+dual, "repl-diskless-load swapdb")
				set := valkeytest.StartSet(t, options)
				old := set.Nodes[0]
				old.Kill()
				awaitNewPrimary(t, set, old.Address)
				old.Start()
				valkeytest.Eventually(t, "the old primary follows the new one", func(ctx context.Context) error {
					primary, err := set.Sentinels[0].Sentinel().PrimaryAddr(ctx, set.Monitor)
					if err != nil {
						return err
					}
					replication, err := old.Node().Replication(ctx)
					if err != nil || !replication.LinkUp || replication.Primary != primary {
						return fmt.Errorf("%+v, %w", replication, err)
					}
					return nil
				})
				set.AwaitSentinels(t)
				for _, node := range set.Nodes {
					// Refusals are logged by the server: there must be none, except for what this test asked for itself.
					assertNoRefusals(t, node)
				}
			})
		})
	}
}

func awaitNewPrimary(t *testing.T, set *valkeytest.Set, old valkeyclient.Address) {
	t.Helper()
	valkeytest.Eventually(t, "all Sentinels switch", func(ctx context.Context) error {
		for _, sentinel := range set.Sentinels {
			address, err := sentinel.Sentinel().PrimaryAddr(ctx, set.Monitor)
			if err == nil && address == old {
				err = fmt.Errorf("%s says %s", sentinel.Name, address)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func assertNoRefusals(t *testing.T, node *valkeytest.Process) {
	t.Helper()
	session := dial(t, node, naming.UserOperator)
	if answer := session.ask("ACL LOG"); answer != "*0" {
		t.Errorf("%s refused something: %s ...", node.Name, session.raw(answer))
	}
}

// forbidden is what no system user may do except as allowed says.
var forbidden = []string{
	"FLUSHALL", "FLUSHDB", "SET k v", "GET k", "DEL k", "KEYS *", "SCAN 0", "CONFIG SET hz 11", "CONFIG GET hz", "ACL SETUSER x on",
	"ACL DELUSER default", "ACL GENPASS", "DEBUG SLEEP 0", "MONITOR", "EVAL return(1) 0", "MODULE LIST", "SCRIPT FLUSH", "MIGRATE h 1 k 0 1",
	"RESTORE k 0 x", "PUBLISH x y", "SUBSCRIBE x", "BGREWRITEAOF", "SAVE", "SLAVEOF NO ONE", "REPLICAOF NO ONE", "FAILOVER ABORT",
	"CLIENT PAUSE 1 WRITE", "CLIENT UNPAUSE", "CLIENT KILL TYPE normal SKIPME yes", "CONFIG REWRITE", "PSYNC ? -1", "SHUTDOWN ABORT",
	"ACL LOAD", "ACL LIST", "SCRIPT KILL", "LATENCY RESET", "SLOWLOG RESET", "CLUSTER NODES", "WAIT 0 1", "SWAPDB 0 1",
}

var allowedOnNodes = map[string][]string{
	naming.UserOperator: {
		"CONFIG SET hz 11", "CONFIG GET hz", "CONFIG REWRITE", "REPLICAOF NO ONE", "FAILOVER ABORT", "CLIENT PAUSE 1 WRITE",
		"CLIENT UNPAUSE", "CLIENT KILL TYPE normal SKIPME yes", "SHUTDOWN ABORT", "ACL LOAD", "ACL LIST",
	},
	naming.UserAPIServer: {
		"CONFIG SET hz 11", "REPLICAOF NO ONE", "CLIENT PAUSE 1 WRITE", "CLIENT UNPAUSE",
		"CLIENT KILL TYPE normal SKIPME yes",
	},
	naming.UserAgent: {
		"CONFIG SET hz 11", "REPLICAOF NO ONE", "CLIENT PAUSE 1 WRITE", "CLIENT UNPAUSE",
		"CLIENT KILL TYPE normal SKIPME yes", "SHUTDOWN ABORT", "ACL LOAD", "ACL LIST",
	},
	naming.UserReplication: {"PSYNC ? -1"},
	naming.UserSentinel: {
		"CONFIG REWRITE", "SLAVEOF NO ONE", "FAILOVER ABORT", "CLIENT PAUSE 1 WRITE", "CLIENT UNPAUSE",
		"CLIENT KILL TYPE normal SKIPME yes", "SCRIPT KILL",
	},
	naming.UserExporter: {},
}

func TestNodeUsersMayDoWhatIsListedAndNothingElse(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, ACL: nodeACL(t), Credentials: credentials(naming.UserOperator)})
		for _, user := range nodeUserNames {
			for _, line := range forbidden {
				answer := dial(t, server, user).ask(line)
				refused := strings.HasPrefix(answer, "-NOPERM")
				if want := !slices.Contains(allowedOnNodes[user], line); refused != want {
					t.Errorf("%s: %s: %s", user, line, answer)
				}
			}
			if answer := dialAs(t, server, user, "wrong").login; !strings.HasPrefix(answer, "-WRONGPASS") {
				t.Errorf("%s with a wrong password: %s", user, answer)
			}
		}
	})
}

func TestSentinelUsersMayDoWhatIsListedAndNothingElse(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		process := valkeytest.StartSentinel(t, valkeytest.Options{
			Binary: binary, ACL: sentinelACL(t), Credentials: credentials(naming.UserOperator),
		})
		registration := valkeyclient.Registration{Name: "main", Primary: server.Address, Quorum: 2}
		if err := process.Sentinel().Register(t.Context(), registration); err != nil {
			t.Fatal(err)
		}
		changes := []string{
			"SENTINEL REMOVE other", "SENTINEL SET main quorum 1", "SENTINEL MONITOR x 127.0.0.1 1 2", "SENTINEL RESET nothing",
			"SENTINEL CONFIG SET announce-port 0", "SENTINEL FLUSHCONFIG", "ACL SETUSER x on", "SHUTDOWN", "ACL LIST",
		}
		for _, user := range append([]string{""}, sentinelUserNames...) {
			for _, line := range changes {
				answer := dial(t, process, user).ask(line)
				want := user == naming.UserOperator && strings.HasPrefix(line, "SENTINEL") ||
					user == naming.UserAPIServer && strings.HasPrefix(line, "SENTINEL SET ") // for a forced failover that no replica is fresh enough for
				if refused := strings.HasPrefix(answer, "-NOPERM"); refused == want {
					t.Errorf("%q: %s: %s", user, line, answer)
				}
			}
			failover := dial(t, process, user).ask("SENTINEL FAILOVER main")
			mayFailOver := slices.Contains([]string{naming.UserOperator, naming.UserAPIServer, naming.UserAgent}, user)
			if refused := strings.HasPrefix(failover, "-NOPERM"); refused == mayFailOver {
				t.Errorf("%q: SENTINEL FAILOVER: %s", user, failover)
			}
		}
		discovery := []string{
			"SENTINEL get-master-addr-by-name main", "SENTINEL MASTERS", "SENTINEL MASTER main", "SENTINEL REPLICAS main", "SENTINEL SLAVES main",
			"SENTINEL SENTINELS main", "SENTINEL CKQUORUM main", "ROLE", "INFO", "PING", "CLIENT SETNAME x", "CLIENT ID", "COMMAND COUNT", "HELLO 3",
			"SUBSCRIBE +switch-master",
		}
		for _, line := range discovery {
			if answer := dial(t, process, "").ask(line); strings.HasPrefix(answer, "-NO") && !strings.HasPrefix(answer, "-NOQUORUM") {
				t.Errorf("a client without a login: %s: %s", line, answer)
			}
		}
	})
}

func TestDefaultUsersOfNodes(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		open := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, ACL: nodeACL(t), Credentials: credentials(naming.UserOperator)})
		for line, want := range map[string]string{
			"SET k v": "+OK", "GET k": "$", "DEL k": ":", "PING": "+PONG", "KEYS x": "*0", "EVAL return(1) 0": ":1", "DBSIZE": ":", "ROLE": "*3",
			"PUBLISH a b": ":0", "MULTI": "+OK", "CLIENT SETNAME x": "+OK", "SELECT 1": "+OK", "WAIT 0 1": ":0",
			"FLUSHALL": "-NOPERM", "CONFIG GET *": "-NOPERM", "ACL LIST": "-NOPERM", "SHUTDOWN": "-NOPERM", "REPLICAOF NO ONE": "-NOPERM",
			"DEBUG SLEEP 0": "-NOPERM", "MONITOR": "-NOPERM", "CLIENT KILL TYPE normal": "-NOPERM", "SYNC": "-NOPERM", "SAVE": "-NOPERM",
		} {
			if answer := dial(t, open, "").ask(line); !strings.HasPrefix(answer, want) {
				t.Errorf("open default user: %s: %s, want %s", line, answer, want)
			}
		}
		lines := aclLines(t, valkeyconf.NodeUser, nodeUserNames, valkeyconf.ClosedDefault())
		closed := valkeytest.StartServer(t, valkeytest.Options{Binary: binary, ACL: lines, Credentials: credentials(naming.UserOperator)})
		for _, line := range []string{"PING", "GET k", "INFO"} {
			if answer := dial(t, closed, "").ask(line); !strings.HasPrefix(answer, "-NOAUTH") {
				t.Errorf("closed default user: %s: %s", line, answer)
			}
		}
	})
}

func TestTwoPasswordsWhileOneIsReplaced(t *testing.T) {
	user, _ := valkeyconf.NodeUser(naming.UserAgent, valkeyconf.HashPassword("old"), valkeyconf.HashPassword("new"))
	line, err := user.Line()
	if err != nil {
		t.Fatal(err)
	}
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), ACL: []string{line}})
	client := valkeytest.NewClient(t)
	for _, word := range []string{"old", "new"} {
		node, err := client.Node(server.TargetAs(valkeyclient.Credentials{Username: naming.UserAgent, Password: word}))
		if err != nil {
			t.Fatal(err)
		}
		if who, err := node.ACLWhoAmI(t.Context()); err != nil || who != naming.UserAgent {
			t.Errorf("login with %q: %q, %v", word, who, err)
		}
	}
	node, err := client.Node(server.TargetAs(valkeyclient.Credentials{Username: naming.UserAgent, Password: "other"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Ping(t.Context()); !errors.Is(err, valkeyclient.ErrAuth) {
		t.Errorf("login with another: %v", err)
	}
}

// session is one raw connection.
type session struct {
	t          *testing.T
	connection net.Conn
	reader     *bufio.Reader
	login      string
}

func dial(t *testing.T, process *valkeytest.Process, user string) *session {
	return dialAs(t, process, user, password(user))
}

func dialAs(t *testing.T, process *valkeytest.Process, user, password string) *session {
	t.Helper()
	connection, err := net.Dial("tcp", process.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	s := &session{t: t, connection: connection, reader: bufio.NewReader(connection)}
	if user != "" {
		s.login = s.ask("AUTH " + user + " " + password)
	}
	return s
}

// ask sends an inline command and returns the first line of the answer.
func (s *session) ask(line string) string {
	s.t.Helper()
	_ = s.connection.SetDeadline(time.Now().Add(valkeytest.Patience))
	if _, err := fmt.Fprintf(s.connection, "%s\r\n", line); err != nil {
		return "write: " + err.Error()
	}
	answer, err := s.reader.ReadString('\n')
	if err != nil {
		return "read: " + err.Error()
	}
	return strings.TrimSpace(answer)
}

// raw is some of what follows the first line.
func (s *session) raw(first string) string {
	_ = s.connection.SetDeadline(time.Now().Add(time.Second))
	buffer := make([]byte, 2000)
	n, _ := s.reader.Read(buffer)
	return first + "\n" + string(buffer[:n])
}
