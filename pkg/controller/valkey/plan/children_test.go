// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	discoveryv1ac "k8s.io/client-go/applyconfigurations/discovery/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// passwords is the Secret with a password for each of the product's users, and these keys besides.
func passwords(extra map[string]string) func(*Observed) {
	return func(o *Observed) {
		secret := desired.ValkeyPasswordsSecret(o.Valkey)
		secret.ResourceVersion = "5"
		for _, user := range naming.SystemUsers() {
			secret.Data[user] = []byte("password-of-" + user)
		}
		for key, value := range extra {
			if value == "" {
				delete(secret.Data, key)
			} else {
				secret.Data[key] = []byte(value)
			}
		}
		o.Objects.Passwords, o.Objects.PasswordsCopy = secret, secret.DeepCopy()
	}
}

func TestPasswords(t *testing.T) {
	all := strings.Join(naming.SystemUsers(), " ")
	known := func(o *Observed) {
		o.Memory.Passwords = map[string]Secret{}
		for _, user := range naming.SystemUsers() {
			o.Memory.Passwords[user] = "known"
		}
	}
	lost := func(o *Observed) { o.Objects.Passwords = nil }
	agent := func(o *Observed) { o.Monitoring.AgentPassword = "theirs" }
	check(t, map[string]planCase{
		"new":                 {given(modeNone, 0), "write passwords to Secret internal-v-system-passwords (draw: " + all + "; keep: )"},
		"there":               {given(modeNone, 0, passwords(nil)), ""},
		"lost and remembered": {given(modeNone, 0, known), "write passwords to Secret internal-v-system-passwords (draw: ; keep: " + all + ")"},
		"lost, with its copy": {given(modeNone, 0, passwords(nil), lost), "write passwords to Secret internal-v-system-passwords (draw: ; keep: " + all + ")"},
		"lost, with a copy that is not ours": {given(modeNone, 0, passwords(nil), lost, func(o *Observed) { o.Objects.PasswordsCopy.OwnerReferences = nil }),
			"write passwords to Secret internal-v-system-passwords (draw: " + all + "; keep: )"},
		"without its copy":          {given(modeNone, 0, passwords(nil), func(o *Observed) { o.Objects.PasswordsCopy = nil }), "apply Secret internal-v-system-passwords-copy"},
		"a user of a newer release": {given(modeNone, 0, passwords(map[string]string{naming.UserExporter: ""})), "write passwords to Secret internal-v-system-passwords (draw: _exporter; keep: )"},
		"monitored":                 {given(modeSentinel, 1, passwords(nil), agent), "write passwords to Secret internal-v-system-passwords (draw: ; keep: sentinel_agent)"},
		"monitored and known":       {given(modeSentinel, 1, passwords(map[string]string{naming.KeySentinelAgent: "theirs"}), agent), ""},
		"monitored by another":      {given(modeSentinel, 1, passwords(map[string]string{naming.KeySentinelAgent: "older"}), agent), "write passwords"},
		"no longer monitored":       {given(modeNone, 1, passwords(map[string]string{naming.KeySentinelAgent: "theirs"})), "write passwords"},
		"somebody else's":           {given(modeNone, 0, passwords(nil), func(o *Observed) { o.Objects.Passwords.OwnerReferences = nil }), "blocked ForeignObject"},
	}, "passwords")
	recovery := only(given(modeNone, 0, known), "passwords").Actions[0].(WritePasswords)
	if !recovery.Recovers || recovery.Version != "" {
		t.Errorf("recovery: %s, version %q", recovery, recovery.Version)
	}
	if addition := only(given(modeNone, 0, passwords(map[string]string{naming.UserExporter: ""})), "passwords").Actions[0].(WritePasswords); addition.Version != "5" || addition.Recovers {
		t.Errorf("addition: version %q, recovers %v", addition.Version, addition.Recovers)
	}
}

func TestNodesWaitForWhatTheyMount(t *testing.T) {
	empty := func(o *Observed) { o.Nodes, o.Snapshot.Members = nil, nil }
	check(t, map[string]planCase{
		"without passwords":       {given(modeNone, 1, empty), "write passwords"},
		"with everything":         {given(modeNone, 1, empty, passwords(nil)), "apply Secret internal-v-acl; apply ConfigMap valkey-v; apply ValkeyNode v-0; apply ValkeyNode v-1"},
		"a foreign node":          {given(modeNone, 1, empty, passwords(nil), func(o *Observed) { o.Objects.ForeignNodes = []string{"v-1"} }), "apply Secret internal-v-acl; apply ConfigMap valkey-v; apply ValkeyNode v-0; blocked ForeignObject"},
		"a foreign configuration": {given(modeNone, 0, empty, passwords(nil), func(o *Observed) { o.Objects.Config = &corev1.ConfigMap{} }), "apply Secret internal-v-acl; blocked ForeignObject"},
		"a node of an older spec": {given(modeNone, 0, passwords(nil), func(o *Observed) { o.Nodes[0].Object.Spec.Image = "older" }), "apply Secret internal-v-acl; apply ConfigMap valkey-v; apply ValkeyNode v-0"},
		"a node that is going": {given(modeNone, 0, passwords(nil), func(o *Observed) {
			o.Nodes[0].Object.Spec.Image = "older"
			now := metav1.Now()
			o.Nodes[0].Object.DeletionTimestamp = &now
		}), "apply Secret internal-v-acl; apply ConfigMap valkey-v"},
	}, "passwords", "acl", "config", "nodes")
}

func TestAnUpdateKeepsWhatANodeWasAuthorisedTo(t *testing.T) {
	o := given(modeNone, 0, passwords(nil), func(o *Observed) {
		o.Nodes[0].Object.Spec.Image, o.Nodes[0].Object.Spec.WorkloadRevision = "older", "given"
	})
	p := only(o, "nodes")
	if len(p.Actions) != 1 || !strings.Contains(encoded(t, p.Actions[0].(Apply).Config), `"workloadRevision":"given"`) {
		t.Errorf("plan: %s", p)
	}
}

// hintIn is the primary in the boot settings that a plan writes.
func hintIn(t *testing.T, p Plan) string {
	t.Helper()
	for _, action := range p.Actions {
		if apply, ok := action.(Apply); ok && apply.Kind == KindConfigMap {
			settings, err := boot.Decode[boot.Node]([]byte(apply.Config.(*corev1ac.ConfigMapApplyConfiguration).Data[naming.KeyBoot]))
			if err != nil {
				t.Fatal(err)
			}
			return settings.Primary
		}
	}
	t.Fatal("no ConfigMap is written")
	return ""
}

func TestTheHintStaysWhileNobodyIsPrimary(t *testing.T) {
	for name, c := range map[string]struct {
		o    Observed
		want string
	}{
		"healthy":          {given(modeNone, 1), "v-0"},
		"nobody yet":       {given(modeNone, 1, func(o *Observed) { o.Valkey.Status.Primary = ""; o.Snapshot.Members = nil }), ""},
		"the primary away": {given(modeOperator, 1, member(0, unreachable), member(1, unlinked)), "v-0"},
		"the Sentinels' new one, which we cannot reach": {given(modeSentinel, 1, member(1, unreachable),
			sentinelSays(0, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 2 })), "v-1"},
		"in the middle of a failover": {given(modeSentinel, 1, member(1, unreachable),
			sentinelSays(0, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch, m.FailoverInProgress = address(1), 2, true })), "v-0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hintIn(t, only(c.o, "config")); got != c.want {
				t.Errorf("hint %q, want %q", got, c.want)
			}
		})
	}
}

func TestRoute(t *testing.T) {
	routed := func(index int) func(*Observed) {
		return func(o *Observed) {
			o.Objects.Endpoints = &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
			isController := true
			o.Objects.Endpoints.OwnerReferences = []metav1.OwnerReference{{APIVersion: "valkey.io/v1alpha1", Kind: "Valkey", UID: o.Valkey.UID, Controller: &isController}}
			o.Objects.Endpoints.Endpoints = []discoveryv1.Endpoint{{TargetRef: &corev1.ObjectReference{UID: o.Nodes[index].Pod.UID}}}
		}
	}
	cases := map[string]struct {
		o    Observed
		want string // the pod that is led to
	}{
		"the primary":                         {given(modeNone, 1, routed(1)), "valkey-v-0-0"},
		"one that only we cannot reach stays": {given(modeNone, 1, routed(0), member(0, unreachable)), "valkey-v-0-0"},
		"one that nobody can reach goes":      {given(modeNone, 1, routed(0), member(0, unreachable), podIs(0, true, false)), ""},
		"one that refuses us stays":           {given(modeNone, 1, routed(0), member(0, func(m *topology.Member) { m.Reach.Class = topology.ReachAuth })), "valkey-v-0-0"},
		"one we cannot reach is not led to":   {given(modeNone, 1, routed(1), member(0, unreachable)), ""},
		"an empty one among others with data": {given(modeNone, 1, routed(0), member(0, func(m *topology.Member) { m.Keys, m.ReplID = 0, "fresh" }), member(1, unlinked)), ""},
		"one that the Sentinels have left":    {given(modeSentinel, 1, routed(0), sentinelSays(0, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 2 })), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &pass{o: &c.o, verdict: Judge(c.o), isApplied: desired.IsApplied}
			actions := p.endpoints()
			if len(actions) != 1 {
				t.Fatalf("%d actions", len(actions))
			}
			slice := actions[0].(Apply).Config.(*discoveryv1ac.EndpointSliceApplyConfiguration)
			got := ""
			for _, endpoint := range slice.Endpoints {
				got += *endpoint.TargetRef.Name
			}
			if got != c.want {
				t.Errorf("leads to %q, want %q", got, c.want)
			}
		})
	}
	sixth := given(modeNone, 0, routed(0), func(o *Observed) { o.Nodes[0].Pod.Status.PodIP = "fd00::1" })
	if actions := Endpoints(&sixth, Judge(sixth)); len(actions) != 1 || actions[0].String() != "delete EndpointSlice valkey-v-primary" {
		t.Errorf("an address of the other family: %v", actions)
	}
	none := given(modeNone, 0, member(0, unreachable))
	if actions := Endpoints(&none, Judge(none)); len(actions) != 0 {
		t.Errorf("a slice is made before there is an address: %v", actions)
	}
}

func TestRoleLabels(t *testing.T) {
	unlabelled := func(o *Observed) {
		for i := range o.Nodes {
			delete(o.Nodes[i].Pod.Labels, naming.LabelRole)
		}
	}
	labels := func(o Observed) string {
		var text []string
		for _, action := range only(o, "route").Actions {
			if apply, ok := action.(Apply); ok && apply.Kind == KindPod {
				pod := apply.Config.(*corev1ac.PodApplyConfiguration)
				text = append(text, *pod.Name+"="+pod.Labels[naming.LabelRole])
			}
		}
		return strings.Join(text, " ")
	}
	second := member(1, func(m *topology.Member) { m.Role, m.Primary = topology.RolePrimary, topology.Address{} })
	for name, c := range map[string]struct {
		o    Observed
		want string
	}{
		"as they are":                      {given(modeNone, 1), ""},
		"new pods":                         {given(modeNone, 1, unlabelled), "valkey-v-0-0=primary valkey-v-1-0=replica"},
		"unknown stays as it is":           {given(modeNone, 1, member(1, unreachable)), ""},
		"a second primary has none":        {given(modeNone, 1, second), "valkey-v-1-0="},
		"one that the Sentinels have left": {given(modeSentinel, 1, sentinelSays(0, func(m *topology.MonitorView) { m.Primary, m.ConfigEpoch = address(1), 2 })), "valkey-v-0-0="},
	} {
		t.Run(name, func(t *testing.T) {
			if got := labels(c.o); got != c.want {
				t.Errorf("labels %q, want %q", got, c.want)
			}
		})
	}
}

func TestWarningsLast(t *testing.T) {
	quorum := func(n int32) func(*Observed) {
		return func(o *Observed) { o.Valkey.Spec.Failover.Sentinel = &v1alpha1.SentinelFailoverSpec{Quorum: &n} }
	}
	for name, c := range map[string]struct {
		o    Observed
		want string
	}{
		"a quorum that is no majority": {given(modeSentinel, 1, quorum(1)), "1 of 3 is no majority"},
		"a quorum that cannot be":      {given(modeSentinel, 1, quorum(4)), "4 of 3 Sentinels can never agree"},
		"an owned directive":           {given(modeNone, 0, func(o *Observed) { o.Valkey.Spec.Config = map[string]string{"port": "1"} }), "spec.config[port]: ignored"},
		"nobody promotes":              {given(modeNone, 1), "no replica is promoted"},
		"a directive that a server refuses": {given(modeNone, 0, func(o *Observed) {
			o.Nodes[0].Object.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionLiveConfigApplied, Status: metav1.ConditionFalse,
				Reason: v1alpha1.ReasonConfigRefused, Message: "maxmemory-policy: argument(s) must be one of the following"}}
		}), "v-0 refuses: maxmemory-policy"},
	} {
		t.Run(name, func(t *testing.T) {
			var text []string
			for _, w := range only(c.o, "warnings").Warnings {
				text = append(text, w.Message)
			}
			if !strings.Contains(strings.Join(text, "\n"), c.want) {
				t.Errorf("warnings %q", text)
			}
		})
	}
}
