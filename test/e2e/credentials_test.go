//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// A monitored Valkey with a user of its own lives through everything that happens to passwords.
func TestCredentials(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "credentials")
	p := &passwords{env: e, ns: ns}
	p.write(t, "app", map[string]string{"first": p.draw()})
	p.set = e.Start(t, ns, framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Extra: `  users:
  - name: app
    passwordSecret: {name: app}
    keys: {readWrite: ["*"]}
    channels: {patterns: ["*"]}
    commands: {allow: ["@all"], deny: ["@admin"]}
  config: {dual-channel-replication-enabled: "yes", repl-diskless-sync: "yes", repl-diskless-sync-delay: "0"}
`})
	p.client = e.Client(t, ns)
	for _, step := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"without credentials (H7)", p.closed},
		{"what the product's own users may do (H6)", p.systemUsers},
		{"a second password, and the first goes (H1)", p.rotate},
		{"another Secret (H2)", p.moveReference},
		{"one value is replaced in place (H1)", p.replaceInPlace},
		{"rotated, and a pod restarted at once (H4)", p.rotateAndRestart},
		{"the Secret is deleted (H3)", p.loseSecret},
		{"several databases, a full copy over two channels (H9)", p.databases},
		{"no password anywhere it can be read (H8)", p.search},
	} {
		t.Run(step.name, func(t *testing.T) {
			p.set.WaitReady(t, 90*time.Second)
			step.run(t)
		})
	}
}

// passwords is the set, and the password of its user that is valid now.
type passwords struct {
	env    *framework.Env
	ns     string
	set    *framework.Set
	client *framework.Client
	now    string
	drawn  []string
}

// draw is a new password, which is that of the user from now on.
func (p *passwords) draw() string {
	p.now = fmt.Sprintf("e2e-secret-%d-%d", len(p.drawn), time.Now().UnixNano())
	p.drawn = append(p.drawn, p.now)
	return p.now
}

func (p *passwords) write(t *testing.T, name string, data map[string]string) {
	t.Helper()
	ctx, api := context.WithoutCancel(t.Context()), p.env.Kube.CoreV1().Secrets(p.ns)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	_ = api.Delete(ctx, name, metav1.DeleteOptions{}) // where there is none, none goes
	if _, err := api.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// patch changes one key of a Secret; an empty value takes it out.
func (p *passwords) patch(t *testing.T, name, key, value string) {
	t.Helper()
	word := "null"
	if value != "" {
		word = `"` + base64.StdEncoding.EncodeToString([]byte(value)) + `"`
	}
	framework.Kubectl(t, "patch", "secret", name, "-n", p.ns, "--type=merge", "-p", fmt.Sprintf(`{"data":{%q:%s}}`, key, word))
}

func (p *passwords) route(password string) []string {
	return append(p.set.ViaSentinel(), "-user", "app", "-password", password)
}

// waitLogin waits until every member lets the user in with one password, or refuses it.
func (p *passwords) waitLogin(t *testing.T, password string, accepted bool, patience time.Duration) {
	t.Helper()
	framework.Eventually(t, patience, fmt.Sprintf("every member accepts the password: %v", accepted), func() error {
		for _, m := range p.set.Get(t).Status.Members {
			_, err := p.client.DoAs(t, p.set.Address(m.Node), "app", password, "PING")
			switch {
			case accepted && err != nil:
				return fmt.Errorf("%s: %w", m.Node, err)
			case !accepted && err == nil:
				return fmt.Errorf("%s still accepts it", m.Node)
			case !accepted && !strings.Contains(err.Error(), "WRONGPASS"):
				return fmt.Errorf("%s: %w", m.Node, err)
			}
		}
		return nil
	})
}

func (p *passwords) closed(t *testing.T) {
	for _, m := range p.set.Get(t).Status.Members {
		if out, err := p.client.Do(t, p.set.Address(m.Node), "GET", "a"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
			t.Errorf("%s answered %q, %v", m.Node, out, err)
		}
	}
}

// systemUsers tries what would do harm, as each user of the product. What handing over and changing settings needs is documented where the
// rules are; nobody reads or writes data, or makes users.
func (p *passwords) systemUsers(t *testing.T) {
	harm := []string{"FLUSHALL", "GET a", "SET a b", "KEYS *", "ACL SETUSER evil on", "ACL DELUSER app", "MODULE LIST", "MONITOR", "EVAL return(1) 0",
		"CONFIG GET masterauth", "CONFIG SET replica-priority 100"}
	data := p.set.Address(p.set.Primary(t))
	for _, user := range naming.SystemUsers() {
		allowed := map[string]bool{"CONFIG GET masterauth": user == naming.UserOperator,
			"CONFIG SET replica-priority 100": user == naming.UserOperator || user == naming.UserAPIServer || user == naming.UserAgent}
		p.refused(t, data, user, p.set.SystemPassword(t, user), harm, allowed)
	}
	harm = []string{"ACL SETUSER evil on", "SENTINEL REMOVE nobody", "SENTINEL CONFIG GET resolve-hostnames", "SHUTDOWN"}
	for _, user := range naming.SentinelSystemUsers() {
		ours := user == naming.UserOperator
		allowed := map[string]bool{"SENTINEL REMOVE nobody": ours, "SENTINEL CONFIG GET resolve-hostnames": ours}
		p.refused(t, p.set.SentinelAddresses()[0], user, p.set.SentinelPassword(t, user), harm, allowed)
	}
}

func (p *passwords) refused(t *testing.T, address, user, password string, commands []string, allowed map[string]bool) {
	t.Helper()
	for i, answer := range p.client.Each(t, address, user, password, commands) {
		if isRefused := strings.Contains(answer, "NOPERM"); isRefused == allowed[commands[i]] {
			t.Errorf("%s as %s: %s", commands[i], user, answer)
		}
	}
}

// linked is since when replication has been healthy, and an error where it is not.
func (p *passwords) linked(t *testing.T) (metav1.Time, error) {
	t.Helper()
	c := meta.FindStatusCondition(p.set.Get(t).Status.Conditions, v1alpha1.ConditionReplicationHealthy)
	if c == nil || c.Status != metav1.ConditionTrue {
		return metav1.Time{}, fmt.Errorf("replication: %+v", c)
	}
	return c.LastTransitionTime, nil
}

func (p *passwords) rotate(t *testing.T) {
	since, err := p.linked(t)
	if err != nil {
		t.Fatal(err)
	}
	first := p.now
	sum := p.set.Planned(t, p.client, "h1", p.route(first), func() {
		p.patch(t, "app", "second", p.draw())
		p.waitLogin(t, p.now, true, 2*time.Minute)
		p.waitLogin(t, first, true, 5*time.Second)
	})
	if sum.Failed != 0 {
		t.Errorf("writes failed while a password was added: %v", sum.Errors)
	}
	sum = p.set.Planned(t, p.client, "h1-second", p.route(p.now), func() {
		p.patch(t, "app", "first", "")
		p.waitLogin(t, first, false, 2*time.Minute)
		p.waitLogin(t, p.now, true, 5*time.Second)
	})
	if sum.Failed != 0 {
		t.Errorf("writes failed while a password was taken away: %v", sum.Errors)
	}
	if now, err := p.linked(t); err != nil || now != since {
		t.Errorf("replication was unhealthy in between: since %s, now %s, %v", since, now, err)
	}
	p.set.Planned(t, p.client, "h1-failover", p.route(p.now), func() { p.set.Failover(t, v1alpha1.FailoverRequestSpec{}) })
}

func (p *passwords) moveReference(t *testing.T) {
	before := p.now
	route := p.route(before)
	sum := p.set.Planned(t, p.client, "h2", append(route, "-read-password", p.draw()), func() {
		p.write(t, "app-too", map[string]string{"password": p.now})
		p.set.Patch(t, `{"spec":{"users":[{"name":"app","passwordSecret":{"name":"app-too"},"keys":{"readWrite":["*"]},"channels":{"patterns":["*"]},"commands":{"allow":["@all"],"deny":["@admin"]}}]}}`)
		p.waitLogin(t, p.now, true, 2*time.Minute)
		p.waitLogin(t, before, false, 2*time.Minute)
	})
	// Who is logged in stays so.
	if sum.Failed != 0 {
		t.Errorf("writes of clients that were logged in failed: %v", sum.Errors)
	}
	p.set.Planned(t, p.client, "h2-failover", p.route(p.now), func() { p.set.Failover(t, v1alpha1.FailoverRequestSpec{}) })
}

// replaceInPlace: nobody looked after an overlap, so the product does. No server refuses the old password while another does not know the new one.
func (p *passwords) replaceInPlace(t *testing.T) {
	since, err := p.linked(t)
	if err != nil {
		t.Fatal(err)
	}
	before := p.now
	sum := p.set.Planned(t, p.client, "h1-in-place", append(p.route(before), "-read-password", p.draw()), func() {
		p.patch(t, "app-too", "password", p.now)
		for deadline := time.Now().Add(3 * time.Minute); ; {
			refusal, unknown := p.login(t, before), p.login(t, p.now)
			if unknown == nil {
				break
			}
			if refusal != nil || time.Now().After(deadline) {
				t.Fatalf("with the old password: %v; with the new one: %v", refusal, unknown)
			}
		}
		p.waitLogin(t, before, false, 3*time.Minute)
	})
	if sum.Failed != 0 {
		t.Errorf("writes of clients that were logged in failed: %v", sum.Errors)
	}
	if now, err := p.linked(t); err != nil || now != since {
		t.Errorf("replication was unhealthy in between: since %s, now %s, %v", since, now, err)
	}
	p.set.Planned(t, p.client, "h1-in-place-failover", p.route(p.now), func() { p.set.Failover(t, v1alpha1.FailoverRequestSpec{}) })
}

// login is the refusal of a member, nil where all let the user in.
func (p *passwords) login(t *testing.T, password string) error {
	t.Helper()
	for _, m := range p.set.Get(t).Status.Members {
		if _, err := p.client.DoAs(t, p.set.Address(m.Node), "app", password, "PING"); err != nil {
			return fmt.Errorf("%s: %w", m.Node, err)
		}
	}
	return nil
}

func (p *passwords) rotateAndRestart(t *testing.T) {
	replica, before := p.set.Replica(t), p.now
	p.patch(t, "app-too", "password", p.draw())
	p.env.DeletePod(t, p.ns, naming.NodePod(replica), 0)
	p.waitLogin(t, p.now, true, 2*time.Minute)
	p.waitLogin(t, before, false, 2*time.Minute)
	framework.Eventually(t, 30*time.Second, "the nodes say that the file is loaded", func() error {
		for _, m := range p.set.Get(t).Status.Members {
			node, err := p.env.Valkey.ValkeyV1alpha1().ValkeyNodes(p.ns).Get(t.Context(), m.Node, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(node.Status.Conditions, v1alpha1.ConditionACLApplied) {
				return fmt.Errorf("%s: %+v", m.Node, node.Status.Conditions)
			}
		}
		return nil
	})
}

func (p *passwords) loseSecret(t *testing.T) {
	if err := p.env.Kube.CoreV1().Secrets(p.ns).Delete(t.Context(), "app-too", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.set.WaitCondition(t, v1alpha1.ConditionConfigurationWarning, metav1.ConditionTrue, "app-too", time.Minute)
	p.waitLogin(t, p.now, true, 5*time.Second)
	// And a node that starts now knows the user too.
	p.env.DeletePod(t, p.ns, naming.NodePod(p.set.Replica(t)), 0)
	p.waitLogin(t, p.now, true, time.Minute)
	p.write(t, "app-too", map[string]string{"password": p.now})
	p.set.WaitCondition(t, v1alpha1.ConditionConfigurationWarning, metav1.ConditionFalse, "", time.Minute)
}

func (p *passwords) databases(t *testing.T) {
	do := func(address string, words ...string) string {
		t.Helper()
		out, err := p.client.DoAs(t, address, "app", p.now, words...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	do(p.set.Address(p.set.Primary(t)), "EVAL", "for db = 0, 3 do redis.call('SELECT', db) for i = 1, 100 do redis.call('SET', 'h9:' .. i, db) end end return 1", "0")
	replica := p.set.Replica(t)
	p.env.DeletePod(t, p.ns, naming.NodePod(replica), 0)
	framework.Eventually(t, time.Minute, "the replica holds every database again", func() error {
		out, err := p.client.DoAs(t, p.set.Address(replica), "app", p.now, "EVAL", "local n = 0 for db = 1, 3 do redis.call('SELECT', db) n = n + redis.call('DBSIZE') end return n", "0")
		if err == nil && out != "300" {
			err = errors.New(out + " keys")
		}
		return err
	})
}

// search looks for every password that there was in everything that people who may not read Secrets can read.
func (p *passwords) search(t *testing.T) {
	words := append([]string{}, p.drawn...)
	for _, user := range naming.SystemUsers() {
		words = append(words, p.set.SystemPassword(t, user))
	}
	for _, user := range naming.SentinelSystemUsers() {
		words = append(words, p.set.SentinelPassword(t, user))
	}
	places := [][]string{
		{"get", "configmaps,pods,statefulsets,deployments,services,events,valkeys,valkeysentinels,valkeynodes", "-n", p.ns, "-o", "json"},
		{"logs", "-n", "valkey-system", "-l", "app.kubernetes.io/name=valkey-controller", "--tail=-1"},
		{"logs", "-n", "valkey-system", "-l", "app.kubernetes.io/name=valkey-apiserver", "--tail=-1"},
	}
	list, err := p.env.Kube.CoreV1().Pods(p.ns).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=valkey-controller"})
	if err != nil || len(list.Items) < 5 {
		t.Fatalf("%d pods, %v", len(list.Items), err)
	}
	for i := range list.Items {
		places = append(places, []string{"logs", "-n", p.ns, list.Items[i].Name, "--all-containers", "--tail=-1"})
	}
	for _, place := range places {
		text := framework.Kubectl(t, place...)
		if text == "" {
			t.Errorf("kubectl %s: nothing", strings.Join(place, " "))
		}
		for i, word := range words {
			if word == "" || strings.Contains(text, word) {
				t.Errorf("password %d of %d stands in: kubectl %s", i, len(words), strings.Join(place, " "))
			}
		}
	}
}
