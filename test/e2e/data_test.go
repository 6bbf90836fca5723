//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// The primary's pod is killed, under network policies, while nothing of ours but the agents runs.
func TestFailoverWithEverythingOfOursDown(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "alone")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel})
	c := e.Client(t, ns)
	// Under policies, which must not need anybody of ours either.
	p := &policies{Set: s, client: c, elsewhere: e.Client(t, e.Namespace(t, "stranger"))}
	c.Label(t, "app", "web")
	p.switchOn(t)
	password := s.SystemPassword(t, naming.UserOperator)
	old := s.Primary(t)
	c.Must(t, s.PrimaryAddress(), "SET", "before", "1")
	c.Must(t, s.PrimaryAddress(), "WAIT", "2", "5000")

	e.ScaleController(t, 0)
	e.ScaleAPIServer(t, 0)
	ledger := c.Ledger(t, "alone", s.ViaSentinel()...)
	s.CrashPod(t, old)
	now := s.WaitSwitch(t, c, s.Address(old), switchPatience)
	framework.Eventually(t, 20*time.Second, "a Sentinel client writes again", func() error {
		_, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "SET", "after", "1")
		return err
	})
	// The pod comes back, made by Kubernetes alone, and its agent finds whom to follow.
	waitRole(t, s, c, old, password, "slave")
	for _, key := range []string{"before", "after"} {
		if got, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "GET", key); err != nil || got != "1" {
			t.Errorf("GET %s: %q, %v", key, got, err)
		}
	}

	e.ScaleAPIServer(t, 1)
	e.ScaleController(t, 1)
	s.WaitPrimary(t, now, 2*time.Minute)
	if sum := ledger.Close(t, s); sum.LostWithinMillis > framework.Unreplicated.Milliseconds() {
		t.Errorf("%d acknowledged writes are lost, the first of them %d ms old at the crash", sum.Lost, sum.LostWithinMillis)
	}
	if last := s.Get(t).Status.LastFailover; last == nil || last.From != old || last.Cause != v1alpha1.FailoverCauseSentinel {
		t.Errorf("lastFailover is %+v, want one from %s by the Sentinels", last, old)
	}
	found, err := c.Find(t, s.SentinelAddresses(), s.Name)
	if err != nil || found != now {
		t.Errorf("after the controller's return the Sentinels say %s, %v; it fought them", found, err)
	}
}

// The primary's node is cut off, and the controller and the API server are on other nodes: clients of the Sentinels and of the write Service
// are led to the new primary.
func TestPrimarysNodeIsCutOff(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "cut")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Extra: apart})
	s.MovePrimary(t, e.Client(t, ns), func(node string) bool { return !slices.Contains(e.NodesOfOurs(t), node) })
	cut := cutPrimary(t, s)
	framework.Eventually(t, 10*time.Second, "the write Service leads to the new primary", func() error {
		pods, err := readyEndpoints(t.Context(), s)
		if err == nil && (len(pods) != 1 || pods[0] != naming.NodePod(s.NodeAt(t, cut.now))) {
			err = fmt.Errorf("it leads to %v", pods)
		}
		return err
	})
	cut.writeAndHeal(t)
}

// The same when the controller is on that node too: it cannot help, and does no harm when it comes back with what it knew before.
func TestPrimarysNodeIsCutOffWithTheController(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "cut-ours")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Extra: apart})
	controller := e.NodeOfController(t)
	s.MovePrimary(t, e.Client(t, ns), func(node string) bool { return node == controller })
	cutPrimary(t, s).writeAndHeal(t)
}

// apart puts each pod on a node of its own.
const apart = "  scheduling: {node: {spread: {pods: {mode: Required}}}}\n"

// switchPatience has room for two elections that nobody wins: after each the Sentinels wait for twice the failover-timeout.
const switchPatience = 75 * time.Second

// cut is a set whose primary was cut off, and the address of the one that took over.
type cut struct {
	set         *framework.Set
	client      *framework.Client
	old, now    string
	heal        func()
	viaSentinel []string
	ledger      *framework.Ledger
}

// cutPrimary cuts the primary's machine off, and waits until the Sentinels that are left have a new primary. They are asked by IP: half of
// what the cluster's DNS is asked is lost while a machine with one of its pods is cut off.
func cutPrimary(t *testing.T, s *framework.Set) cut {
	t.Helper()
	old := s.Primary(t)
	pod, err := s.Pod(t, old)
	if err != nil {
		t.Fatal(err)
	}
	c := cut{set: s, old: old, client: s.Env.ClientAwayFrom(t, s.Namespace, pod.Spec.NodeName), viaSentinel: s.SentinelsAwayFrom(t, pod.Spec.NodeName)}
	c.ledger = c.client.Ledger(t, "cut", "-sentinels", strings.Join(c.viaSentinel, ","), "-name", s.Name)
	c.heal = framework.Cut(t, pod.Spec.NodeName)
	began := time.Now()
	for _, sentinel := range c.viaSentinel {
		c.now = s.WaitSwitchOn(t, c.client, []string{sentinel}, s.Address(old), switchPatience)
	}
	t.Logf("every Sentinel that is left has switched %s after the cut", time.Since(began).Round(10*time.Millisecond))
	return c
}

// writeAndHeal writes to the new primary, heals the cut, and expects the write to be there and the old primary to follow.
func (c cut) writeAndHeal(t *testing.T) {
	t.Helper()
	// Each try asks the cluster's DNS, half of which is gone, and gives up after three seconds.
	framework.Eventually(t, time.Minute, "a Sentinel client writes again", func() error {
		_, err := c.client.ViaSentinel(t, c.viaSentinel, c.set.Name, "SET", "after", "1")
		return err
	})
	c.heal()
	c.set.WaitPrimary(t, c.now, 3*time.Minute)
	// The client is on the other side of the cut: what was acknowledged to it the old primary may have kept to itself for no longer than its link lagged.
	expectUnreplicated(t, c.ledger.Close(t, c.set))
	framework.Eventually(t, 10*time.Second, "the write made during the cut is there", func() error {
		got, err := c.client.ViaSentinel(t, c.set.SentinelAddresses(), c.set.Name, "GET", "after")
		if err == nil && got != "1" {
			t.Fatalf("the write made during the cut: %q", got)
		}
		return err
	})
	waitRole(t, c.set, c.client, c.old, c.set.SystemPassword(t, naming.UserOperator), "slave")
}

// expectUnreplicated expects that nothing was lost but what may not have been replicated when the old primary went.
func expectUnreplicated(t *testing.T, sum framework.Summary) {
	t.Helper()
	if sum.LostWithinMillis > framework.Unreplicated.Milliseconds() {
		t.Errorf("%d acknowledged writes are lost, the first of them %d ms old when the writes stopped", sum.Lost, sum.LostWithinMillis)
	}
}

// B4: the primary's node is cordoned and the pod deleted; what is written meanwhile survives its return.
func TestCordonedPrimaryReturnsAsReplica(t *testing.T) {
	e := framework.Connect(t)
	ns := e.Namespace(t, "cordon")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	c := e.Client(t, ns)
	old := s.Primary(t)
	pod, err := s.Pod(t, old)
	if err != nil {
		t.Fatal(err)
	}
	uncordon := cordon(t, pod.Spec.NodeName)
	ledger := c.Ledger(t, "b4", s.ViaSentinel()...)
	e.DeletePod(t, ns, pod.Name, 0)
	now := s.WaitSwitch(t, c, s.Address(old), switchPatience)
	if _, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "SET", "while-away", "1"); err != nil {
		t.Fatal(err)
	}
	uncordon()
	s.WaitPrimary(t, now, 2*time.Minute)
	s.WaitReady(t, time.Minute)
	expectUnreplicated(t, ledger.Close(t, s))
	if got := c.Must(t, s.Address(old), "GET", "while-away"); got != "1" {
		t.Errorf("the returned node has %q", got)
	}
}

// D1: without persistence the primary's server is killed and back in under a second; the data survive on the replicas.
func TestKilledServerWithoutPersistenceLosesNothing(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "empty")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel})
	c := e.Client(t, ns)
	c.Must(t, s.PrimaryAddress(), "EVAL", "for i = 1, 500 do redis.call('SET', KEYS[1] .. i, i) end return 1", "1", "d1:")
	c.Must(t, s.PrimaryAddress(), "WAIT", "2", "5000")
	old := s.Primary(t)
	s.Crash(t, c, "killed", s.ViaSentinel(), func() {
		framework.Cluster(t, "signal", "--program", "valkey-server", "SIGKILL", ns, naming.NodePod(old), naming.ContainerServer)
		s.WaitPrimary(t, s.WaitSwitch(t, c, s.Address(old), time.Minute), 2*time.Minute)
	})
	allOfD1(t, s, c)
	if now := s.Primary(t); now == old {
		t.Errorf("the emptied %s is primary again", old)
	}
	nothingComesBack(t, s, c)
}

// nothingComesBack kills every server of a Valkey without persistence, whose replicas have copied from their primary. What was deleted must not
// come back from a file that a copy left behind.
func nothingComesBack(t *testing.T, s *framework.Set, c *framework.Client) {
	t.Helper()
	c.Must(t, s.PrimaryAddress(), "EVAL", "for i = 1, 500 do redis.call('DEL', KEYS[1] .. i) end return 1", "1", "d1:")
	c.Must(t, s.PrimaryAddress(), "WAIT", "2", "5000")
	members := s.Get(t).Status.Members
	before := map[string]int32{}
	for _, m := range members {
		restarts, err := containerRestarts(t, s, naming.NodePod(m.Node), naming.ContainerServer)
		if err != nil {
			t.Fatal(err)
		}
		before[m.Node] = restarts
	}
	for _, m := range members {
		framework.Cluster(t, "signal", "SIGKILL", s.Namespace, naming.NodePod(m.Node), naming.ContainerServer)
	}
	framework.Eventually(t, 2*time.Minute, "every server has been restarted, and all is well", func() error {
		for _, m := range members {
			if now, err := containerRestarts(t, s, naming.NodePod(m.Node), naming.ContainerServer); err != nil || now == before[m.Node] {
				return fmt.Errorf("%s: %d restarts, %w", m.Node, now, err)
			}
			if pod, err := s.Pod(t, m.Node); err != nil || !framework.PodReady(pod) {
				return errors.Join(errors.New(m.Node+" is not ready"), err)
			}
		}
		return s.Ready(t)
	})
	for _, m := range s.Get(t).Status.Members {
		if got := c.Must(t, s.Address(m.Node), "EVAL", countD1, "0"); got != "0" {
			t.Errorf("%s holds %s of 500 keys that were deleted", m.Node, got)
		}
	}
}

// countD1 counts the keys d1:1 to d1:500.
const countD1 = "local n = 0 for i = 1, 500 do n = n + redis.call('EXISTS', 'd1:' .. i) end return n"

// allOfD1 expects the 500 keys that were written before the loss on every member.
func allOfD1(t *testing.T, s *framework.Set, c *framework.Client) {
	t.Helper()
	for _, m := range s.Get(t).Status.Members {
		if got := c.Must(t, s.Address(m.Node), "EVAL", countD1, "0"); got != "500" {
			t.Errorf("%s holds %s of 500 keys", m.Node, got)
		}
	}
}

// D1, second half: with persistence, the primary's pod and its volume are lost together.
func TestLostVolumeOfThePrimary(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "volume")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, Persistent: true})
	c := e.Client(t, ns)
	c.Must(t, s.PrimaryAddress(), "EVAL", "for i = 1, 500 do redis.call('SET', KEYS[1] .. i, i) end return 1", "1", "d1:")
	c.Must(t, s.PrimaryAddress(), "WAIT", "2", "5000")
	old := s.Primary(t)
	s.Crash(t, c, "lost", s.ViaSentinel(), func() {
		framework.Kubectl(t, "delete", "pvc", "-n", ns, naming.NodeClaim(old), "--wait=false")
		s.CrashPod(t, old)
		s.WaitPrimary(t, s.WaitSwitch(t, c, s.Address(old), time.Minute), 3*time.Minute)
	})
	allOfD1(t, s, c)
	if now := s.Primary(t); now == old {
		t.Errorf("the emptied %s is primary again", old)
	}
}
