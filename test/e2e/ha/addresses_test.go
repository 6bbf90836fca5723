// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2eha

package ha

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// Scenarios A12 and L9, in a cluster of another DNS domain and of IPv6 (or of both families): what the tests of the plain installation show
// with cluster.local and IPv4. The client's resolver goes through its search list for names of fewer than two dots.
func TestL9A12FailoverWhateverTheDomainAndFamily(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "addresses")
	s := env.Start(t, namespace, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel})
	c := env.ClientWithDots(t, namespace, 2)
	s.WaitAgreed(t)
	known := func() error { return s.Remembered(t, c, 2) }
	framework.Eventually(t, 30*time.Second, "each Sentinel knows each replica once", known)

	before := s.Primary(t)
	s.All(t, c, map[string][]string{"through Sentinels": s.ViaSentinel(), "through the write Service": {"-addr", s.PrimaryAddress()}}, false, func() {
		s.CrashPod(t, before)
		s.WaitSwitch(t, c, s.Address(before), time.Minute)
	})
	after := s.Primary(t)
	if after == before {
		t.Fatalf("status says that %s is primary still", after)
	}
	s.WaitAgreed(t)
	framework.Eventually(t, 30*time.Second, "each Sentinel knows each replica once", known)
	namesEach(t, s)

	// The names that users write, from the shortest on.
	if _, err := c.ViaSentinel(t, s.SentinelAddresses(), s.Name, "SET", "way", "sentinels"); err != nil {
		t.Error(err)
	}
	service, _, _ := strings.Cut(s.PrimaryAddress(), ".")
	for _, host := range []string{service, service + "." + namespace, service + "." + namespace + ".svc", service + "." + namespace + ".svc." + env.Domain} {
		if out, err := c.Do(t, host+":6379", "SET", "way", host); err != nil || out != "OK" {
			t.Errorf("a write to %s: %q, %v", host, out, err)
		}
	}
	leadsToThePrimary(t, s, c)
	statusReads(t, s)
}

// namesEach fails unless every server and Sentinel is known once, to everybody who knows it.
func namesEach(t *testing.T, s *framework.Set) {
	t.Helper()
	if members := s.Get(t).Status.Members; len(members) != 3 {
		t.Errorf("%d members: %+v", len(members), members)
	}
	list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(t.Context(), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].PrimaryAddress != s.Address(s.Primary(t)) || len(list.Items[0].Views) != 3 {
		t.Fatalf("the Sentinels' monitors: %+v", list.Items)
	}
	for _, view := range list.Items[0].Views {
		if view.Replicas != 2 || view.OtherSentinels != 2 {
			t.Errorf("%s knows %d replicas and %d other Sentinels", view.Pod, view.Replicas, view.OtherSentinels)
		}
	}
}

// leadsToThePrimary fails unless each address of the write Service leads to the primary.
func leadsToThePrimary(t *testing.T, s *framework.Set, c *framework.Client) {
	t.Helper()
	name, _, _ := strings.Cut(s.PrimaryAddress(), ".")
	service, err := s.Env.Kube.CoreV1().Services(s.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range service.Spec.ClusterIPs {
		address := netip.AddrPortFrom(netip.MustParseAddr(ip), 6379).String()
		if out, err := c.Do(t, address, "SET", "way", ip); err != nil || out != "OK" {
			t.Errorf("a write to %s: %q, %v", address, out, err)
		}
	}
	t.Logf("the write Service has %v", service.Spec.ClusterIPs)
}

func statusReads(t *testing.T, s *framework.Set) {
	t.Helper()
	bin, err := filepath.Abs(filepath.Join("..", "..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for command, want := range map[string]string{
		"status":  fmt.Sprintf("Valkey %s/%s  Ready", s.Namespace, s.Name),
		"connect": s.PrimaryAddress(),
	} {
		out := framework.Kubectl(t, "valkey", "-n", s.Namespace, command, s.Name)
		t.Logf("kubectl valkey %s:\n%s", command, out)
		if !strings.Contains(out, want) {
			t.Errorf("kubectl valkey %s does not say %q", command, want)
		}
	}
}
