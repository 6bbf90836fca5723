//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// enforced is how long the cluster's enforcer of policies may take to know of a change.
const enforced = 30 * time.Second

// onlyWeb lets in the pods with the label app=web.
const onlyWeb = `{"spec":{"networking":{"networkPolicy":{"enabled":%t,"clients":[{"podLabels":{"app":"web"}}]}}}}`

// Network policies are switched on under load, keep strangers out, let in everybody whom the product needs, and are switched off again.
func TestNetworkPolicies(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "policy")
	s := e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second,
		Extra: "  exporter: {enabled: true}\n"})
	p := &policies{Set: s, client: e.Client(t, ns), elsewhere: e.Client(t, e.Namespace(t, "elsewhere"))}
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"without a policy everybody is let in", func(t *testing.T) { p.expectOpen(t, p.client); p.expectOpen(t, p.elsewhere) }},
		{"switched on under load", p.switchOn},
		{"strangers are kept out", p.strangers},
		{"the exporter is scraped from another namespace", p.scraped},
		{"what the product does still works", p.everything},
		{"switched off", p.switchOff},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// policies is a Valkey and its Sentinels under policies, with a client in their namespace and one in another.
type policies struct {
	*framework.Set
	client, elsewhere *framework.Client
}

// set changes the policy of both objects.
func (p *policies) set(t *testing.T, enabled bool) {
	t.Helper()
	p.Patch(t, fmt.Sprintf(onlyWeb, enabled))
	_, err := p.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(p.Namespace).Patch(
		t.Context(), p.Sentinel, types.MergePatchType, fmt.Appendf(nil, onlyWeb, enabled), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// doors are a server's, a Sentinel's, and those of both agents.
func (p *policies) doors(t *testing.T) (serving, agents []string) {
	t.Helper()
	server := naming.NodeHost(p.Primary(t), p.Namespace, p.Env.Domain)
	sentinel := naming.SentinelHost(p.Sentinel, 0, p.Namespace, p.Env.Domain)
	return []string{fmt.Sprintf("%s:%d", server, naming.PortValkey), fmt.Sprintf("%s:%d", sentinel, naming.PortSentinel)},
		[]string{fmt.Sprintf("%s:%d", server, naming.PortAgent), fmt.Sprintf("%s:%d", sentinel, naming.PortAgent)}
}

func (p *policies) expectOpen(t *testing.T, c *framework.Client) {
	t.Helper()
	framework.Eventually(t, enforced, "all doors are open", func() error {
		_, agents := p.doors(t)
		for _, door := range agents {
			if _, err := c.Get(t, "http://"+door+"/bootz"); err != nil {
				return err
			}
		}
		return p.served(t, c)
	})
}

// served is an error unless the client gets to the primary by way of the Sentinels, and of the write Service.
func (p *policies) served(t *testing.T, c *framework.Client) error {
	t.Helper()
	if _, err := c.ViaSentinel(t, p.SentinelAddresses(), p.Name, "SET", "let", "in"); err != nil {
		return err
	}
	_, err := c.Do(t, p.PrimaryAddress(), "SET", "let", "in")
	return err
}

func (p *policies) switchOn(t *testing.T) {
	p.client.Label(t, "app", "web")
	before := p.sinceWhen(t)
	p.Planned(t, p.client, "on", p.ViaSentinel(), func() {
		p.set(t, true)
		framework.Eventually(t, enforced, "the client of another namespace is kept out", func() error {
			serving, agents := p.doors(t)
			var errs []error
			for _, door := range append(serving, agents...) {
				errs = append(errs, p.elsewhere.KeptOut(t, door))
			}
			return errors.Join(errs...)
		})
	})
	if after := p.sinceWhen(t); after != before {
		t.Errorf("something of ours was cut off:\n%s\n%s", before, after)
	}
}

// sinceWhen is since when what needs connections of ours has been as it is.
func (p *policies) sinceWhen(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	status := p.Get(t).Status
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReplicationHealthy, v1alpha1.ConditionMonitored, v1alpha1.ConditionSentinelQuorumHealthy} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			fmt.Fprintln(&text, kind, c.Status, c.LastTransitionTime)
		}
	}
	return text.String()
}

func (p *policies) strangers(t *testing.T) {
	serving, agents := p.doors(t)
	// Who is let in is not let in everywhere.
	if err := p.served(t, p.client); err != nil {
		t.Error(err)
	}
	for _, door := range agents {
		if err := p.client.KeptOut(t, door); err != nil {
			t.Error(err)
		}
	}
	// The same pod, without the label.
	p.client.Label(t, "app", "")
	framework.Eventually(t, enforced, "the client is kept out", func() error {
		var errs []error
		for _, door := range append(serving, agents...) {
			errs = append(errs, p.client.KeptOut(t, door))
		}
		return errors.Join(errs...)
	})
	// The label alone does not do from another namespace.
	p.elsewhere.Label(t, "app", "web")
	p.client.Label(t, "app", "web")
	framework.Eventually(t, enforced, "the client is let in again", func() error { return p.served(t, p.client) })
	for _, door := range serving {
		if err := p.elsewhere.KeptOut(t, door); err != nil {
			t.Error(err)
		}
	}
}

func (p *policies) scraped(t *testing.T) {
	for i := range 2 {
		host := naming.NodeHost(naming.NodeName(p.Name, i), p.Namespace, p.Env.Domain)
		metrics, err := p.elsewhere.Get(t, fmt.Sprintf("http://%s:%d/metrics", host, naming.PortExporter))
		if err != nil || !strings.Contains(metrics, "redis_up 1") {
			t.Errorf("%s: %d bytes of metrics, %v", host, len(metrics), err)
		}
	}
}

// everything is a scale-out, a hand-over, a replaced pod, live subresources and a snapshot.
func (p *policies) everything(t *testing.T) {
	p.Planned(t, p.client, "all", p.ViaSentinel(), func() {
		p.Patch(t, `{"spec":{"replicas":2}}`)
		p.WaitReady(t, 2*time.Minute)
		old := p.Primary(t)
		answer := p.Failover(t, v1alpha1.FailoverRequestSpec{})
		p.WaitPrimary(t, p.Address(answer.To), time.Minute)
		p.ReplacePod(t, old)
	})
	live, err := p.Env.Valkey.ValkeyV1alpha1().Valkeys(p.Namespace).GetReplication(t.Context(), p.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range live.Members {
		if member.Error != "" {
			t.Errorf("replication: %s: %s", member.Node, member.Error)
		}
	}
	p.WaitAgreed(t)
	if err := clientgo.Backup(t.Context(), p.Env.Valkey, p.Namespace, p.Name, filepath.Join(t.TempDir(), "dump.rdb")); err != nil {
		t.Error(err)
	}
}

func (p *policies) switchOff(t *testing.T) {
	p.set(t, false)
	framework.Eventually(t, enforced, "the policies are gone", func() error {
		for _, name := range []string{naming.ValkeyNetworkPolicy(p.Name), naming.SentinelWorkload(p.Sentinel)} {
			_, err := p.Env.Kube.NetworkingV1().NetworkPolicies(p.Namespace).Get(t.Context(), name, metav1.GetOptions{})
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	p.expectOpen(t, p.elsewhere)
}
