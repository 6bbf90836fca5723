// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func testValkey(change func(*v1alpha1.ValkeySpec)) *v1alpha1.Valkey {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "v", Namespace: "ns", UID: "uid"}}
	if change != nil {
		change(&valkey.Spec)
	}
	v1alpha1.SetObjectDefaults_Valkey(valkey)
	return valkey
}

func TestValkeyACL(t *testing.T) {
	yes, no := true, false
	reference := &v1alpha1.PasswordSecretRef{Name: "app", Keys: []string{"new", "old"}}
	secrets := map[string]map[string][]byte{"app": {"new": []byte("n"), "old": []byte("o"), "other": []byte("x")}}
	hash := valkeyconf.HashPassword
	previous := "user app on sanitize-payload #" + hash("before") + " resetchannels -@all +get\n"
	cases := map[string]struct {
		users             []v1alpha1.UserSpec
		secrets           map[string]map[string][]byte
		previous          string
		want, never       []string
		missing, unusable int
	}{
		"open without users": {want: []string{"user default on sanitize-payload nopass"}},
		"closed with users":  {users: []v1alpha1.UserSpec{{Name: "app", NoPass: true}}, want: []string{"user default off", "user app on sanitize-payload nopass resetchannels -@all"}},
		"the default user declared": {users: []v1alpha1.UserSpec{{Name: "default", NoPass: true, Permissions: "+@read ~*"}},
			want: []string{"user default on sanitize-payload nopass resetchannels -@all +@read ~*"}, never: []string{"user default off"}},
		"every key is a password": {users: []v1alpha1.UserSpec{{Name: "app", Enabled: &yes, PasswordSecret: reference}}, secrets: secrets,
			want: []string{"#" + hash("n") + " #" + hash("o")}, never: []string{hash("x")}},
		"all keys where none is named": {users: []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app"}}}, secrets: secrets,
			want: []string{hash("n"), hash("o"), hash("x")}},
		"a user that is off": {users: []v1alpha1.UserSpec{{Name: "app", Enabled: &no, NoPass: true}}, want: []string{"user app off"}},
		"rules in order": {users: []v1alpha1.UserSpec{{Name: "app", NoPass: true,
			Keys:     &v1alpha1.UserKeys{ReadWrite: []string{"a:*"}, ReadOnly: []string{"b:*"}, WriteOnly: []string{"c:*"}},
			Channels: &v1alpha1.UserChannels{Patterns: []string{"news.*"}},
			Commands: &v1alpha1.UserCommands{Allow: []string{"@read", "config|get"}, Deny: []string{"@dangerous"}}, Permissions: "+ping (+get ~x* &y) -del"}},
			want: []string{"-@all ~a:* %R~b:* %W~c:* &news.* +@read +config|get -@dangerous +ping (+get ~x* &y) -del"}},
		"a Secret that is missing, for a new user":     {users: []v1alpha1.UserSpec{{Name: "app", PasswordSecret: reference}}, want: []string{"user app off"}, missing: 1},
		"a Secret that is missing, for a running user": {users: []v1alpha1.UserSpec{{Name: "app", PasswordSecret: reference}}, previous: previous, want: []string{strings.TrimSpace(previous)}, missing: 1},
		"a key that is missing": {users: []v1alpha1.UserSpec{{Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "app", Keys: []string{"new", "gone"}}}},
			secrets: secrets, previous: previous, want: []string{strings.TrimSpace(previous)}, missing: 1},
		"resetpass":                   {users: []v1alpha1.UserSpec{{Name: "app", PasswordSecret: reference, ResetPass: true}}, want: []string{"user app on sanitize-payload resetchannels"}},
		"a rule that cannot be":       {users: []v1alpha1.UserSpec{{Name: "app", NoPass: true, Permissions: ">inline"}, {Name: "b", NoPass: true}}, want: []string{"user b on"}, never: []string{"inline", "user app"}, unusable: 1},
		"a rule that cannot be, else": {users: []v1alpha1.UserSpec{{Name: "app", NoPass: true, Permissions: "nopass"}}, previous: previous, want: []string{strings.TrimSpace(previous)}, unusable: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			acl, err := NewValkeyACL(ValkeyACLInput{
				Users: c.users, Secrets: c.secrets, Previous: c.previous, SystemPasswords: map[string]string{naming.UserOperator: "operators", naming.UserSentinel: "sentinels"}})
			if err != nil {
				t.Fatal(err)
			}
			if len(acl.Missing) != c.missing || len(acl.Invalid) != c.unusable {
				t.Errorf("missing %q, invalid %q", acl.Missing, acl.Invalid)
			}
			for _, want := range append(c.want, "user "+naming.UserOperator+" on sanitize-payload #"+hash("operators"), "user "+naming.UserSentinel+" on") {
				if !strings.Contains(acl.File, want) {
					t.Errorf("no %q in:\n%s", want, acl.File)
				}
			}
			for _, never := range append(c.never, "operators\n", " n ") {
				if strings.Contains(acl.File, never) {
					t.Errorf("%q in:\n%s", never, acl.File)
				}
			}
			if _, err := valkeyconf.ParseACL(acl.File); err != nil {
				t.Errorf("cannot be read back: %v", err)
			}
		})
	}
}

func TestValkeySettings(t *testing.T) {
	limit := func(spec *v1alpha1.ValkeySpec) {
		spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	}
	cases := map[string]struct {
		change func(*v1alpha1.ValkeySpec)
		key    string
		want   string
	}{
		"three quarters of the limit": {limit, "maxmemory", "805306368"},
		"no limit":                    {nil, "maxmemory", ""},
		"the user's own":              {func(spec *v1alpha1.ValkeySpec) { limit(spec); spec.Config = map[string]string{"maxmemory": "5mb"} }, "maxmemory", "5mb"},
		"the user's own, spelt otherwise": {func(spec *v1alpha1.ValkeySpec) {
			spec.Replicas, spec.Failover.Mode, spec.Config = 1, v1alpha1.FailoverModeOperator, map[string]string{"repl-ping-slave-period": "9"}
		}, "repl-ping-replica-period", ""},
		"heard of often":  {func(spec *v1alpha1.ValkeySpec) { spec.Replicas, spec.Failover.Mode = 1, v1alpha1.FailoverModeOperator }, "repl-ping-replica-period", "2"},
		"an owned key":    {func(spec *v1alpha1.ValkeySpec) { spec.Config = map[string]string{"port": "1"} }, "port", ""},
		"several words":   {func(spec *v1alpha1.ValkeySpec) { spec.Config = map[string]string{"save": "60 1 30 2"} }, "save", "60 1 30 2"},
		"an empty string": {func(spec *v1alpha1.ValkeySpec) { spec.Config = map[string]string{"notify-keyspace-events": ""} }, "notify-keyspace-events", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ValkeySettings(testValkey(c.change))[c.key]; got != c.want {
				t.Errorf("%s is %q, want %q", c.key, got, c.want)
			}
		})
	}
}

func TestValkeyConfigMap(t *testing.T) {
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns"}}
	set.Spec.Replicas = 3
	valkey := testValkey(func(spec *v1alpha1.ValkeySpec) {
		spec.Failover.Mode = v1alpha1.FailoverModeSentinel
		spec.Persistence = &v1alpha1.PersistenceSpec{Mode: v1alpha1.PersistenceModeBoth}
		spec.Config = map[string]string{"maxmemory-policy": "allkeys-lru"}
	})
	built, err := ValkeyConfigMap(valkey, ValkeyBoot{
		Nodes: []string{"v-0", "v-1"}, Sentinels: set, Primary: "v-1", DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: "example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := boot.Decode[boot.Node]([]byte(built.Data[naming.KeyBoot]))
	if err != nil {
		t.Fatal(err)
	}
	if settings.Mode != "Sentinel" || settings.MonitorName != "v" || settings.Primary != "v-1" || !settings.Persistent ||
		settings.Members[1].Host != "valkey-v-1-0.valkey-v-1.ns.svc.example.org" || len(settings.Sentinels) != 3 ||
		settings.Sentinels[2].Host != "valkey-sentinel-s-2.valkey-sentinel-s.ns.svc.example.org" || settings.DNS.Upstreams[0] != "10.0.0.10" {
		t.Errorf("boot settings: %+v", settings)
	}
	config, err := valkeyconf.Parse(built.Data[naming.KeyServerConfig])
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"appendonly": "yes", "maxmemory-policy": "allkeys-lru"} {
		if directive, found := config.Last(name); !found || directive.Value() != want {
			t.Errorf("%s is %q, want %q", name, directive.Value(), want)
		}
	}
	plain, err := ValkeyConfigMap(testValkey(nil), ValkeyBoot{Nodes: []string{"v-0"}})
	if err != nil {
		t.Fatal(err)
	}
	if settings, err := boot.Decode[boot.Node]([]byte(plain.Data[naming.KeyBoot])); err != nil || settings.MonitorName != "" || settings.Sentinels != nil || settings.Primary != "" {
		t.Errorf("boot settings: %+v, %v", settings, err)
	}
}

func TestValkeyBudgetLetsOneGoHoweverManyWorkloadsThereAre(t *testing.T) {
	one, half := intstr.FromInt32(1), intstr.FromString("50%")
	for _, c := range []struct {
		limit         *intstr.IntOrString
		members, stay int
	}{{nil, 1, 0}, {nil, 3, 2}, {&one, 6, 5}, {&half, 3, 1}, {&half, 4, 2}} {
		budget := ValkeyBudget(testValkey(func(spec *v1alpha1.ValkeySpec) { spec.PodDisruptionBudget.MaxUnavailable = c.limit }), c.members)
		if got := budget.Spec.MinAvailable.IntValue(); got != c.stay || budget.Spec.MaxUnavailable != nil {
			t.Errorf("%v of %d: %d must stay, want %d", c.limit, c.members, got, c.stay)
		}
	}
	off := testValkey(func(spec *v1alpha1.ValkeySpec) { spec.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled })
	if ValkeyBudget(off, 3) != nil {
		t.Error("a budget although it is switched off")
	}
}

func TestRouteFamily(t *testing.T) {
	service := func(family corev1.IPFamily) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{family}}}
	}
	pod := func(ips ...string) *corev1.Pod {
		pod := &corev1.Pod{Status: corev1.PodStatus{PodIP: ips[0]}}
		for _, ip := range ips {
			pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		return pod
	}
	const four, six = "10.0.0.1", "fd00::1"
	for name, c := range map[string]struct {
		service *corev1.Service
		pod     *corev1.Pod
		want    discoveryv1.AddressType
	}{
		"as the Service is":                  {service(corev1.IPv6Protocol), pod(four, six), discoveryv1.AddressTypeIPv6},
		"as both are":                        {service(corev1.IPv6Protocol), pod(six), discoveryv1.AddressTypeIPv6},
		"before the Service is there":        {nil, pod(six, four), discoveryv1.AddressTypeIPv6},
		"before the Service has its address": {&corev1.Service{}, pod(four, six), discoveryv1.AddressTypeIPv4},
		"a pod without what the Service has": {service(corev1.IPv6Protocol), pod(four), discoveryv1.AddressTypeIPv4},
	} {
		if got := RouteFamily(c.service, c.pod); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestValkeyPrimaryEndpoints(t *testing.T) {
	now := metav1.Now()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "valkey-v-0-0", Namespace: "ns", UID: "pod"}}
	pod.Status.PodIP = "10.0.0.1"
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	slice := ValkeyPrimaryEndpoints(testValkey(nil), pod, discoveryv1.AddressTypeIPv4)
	if len(slice.Endpoints) != 1 || !*slice.Endpoints[0].Conditions.Ready || slice.Labels[discoveryv1.LabelServiceName] != "valkey-v-primary" {
		t.Errorf("slice: %+v", slice)
	}
	pod.DeletionTimestamp = &now
	leaving := ValkeyPrimaryEndpoints(testValkey(nil), pod, discoveryv1.AddressTypeIPv4).Endpoints[0].Conditions
	if *leaving.Ready || !*leaving.Serving || !*leaving.Terminating {
		t.Errorf("a pod that goes: %+v", leaving)
	}
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}
	for family, want := range map[discoveryv1.AddressType]string{discoveryv1.AddressTypeIPv4: "10.0.0.1", discoveryv1.AddressTypeIPv6: "fd00::1"} {
		slice := ValkeyPrimaryEndpoints(testValkey(nil), pod, family)
		if got := slice.Endpoints[0].Addresses; *slice.AddressType != family || len(got) != 1 || got[0] != want {
			t.Errorf("of a pod with both families, %s: %v %v", family, *slice.AddressType, got)
		}
	}
	if empty := ValkeyPrimaryEndpoints(testValkey(nil), nil, discoveryv1.AddressTypeIPv6); len(empty.Endpoints) != 0 || *empty.AddressType != discoveryv1.AddressTypeIPv6 {
		t.Errorf("without a primary: %+v", empty)
	}
}

func TestALiveNodeIsComparedAsTheAPICompletesIt(t *testing.T) {
	valkey := testValkey(func(spec *v1alpha1.ValkeySpec) {
		spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1024Mi")}
		spec.Persistence = &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi")}
	})
	spec := ValkeyNodeSpec(valkey, "given")
	live := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "v-0", Labels: naming.NodeLabels("v", "v-0")}, Spec: *spec.DeepCopy()}
	v1alpha1.SetObjectDefaults_ValkeyNode(live)
	live.Spec.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("1Gi")
	if !IsValkeyNode(live, spec) {
		t.Error("a node as it should be is taken for another")
	}
	for what, change := range map[string]func(*v1alpha1.ValkeyNode){
		"image":    func(node *v1alpha1.ValkeyNode) { node.Spec.Image = "other" },
		"revision": func(node *v1alpha1.ValkeyNode) { node.Spec.WorkloadRevision = "" },
		"label":    func(node *v1alpha1.ValkeyNode) { delete(node.Labels, naming.LabelValkey) },
	} {
		other := live.DeepCopy()
		change(other)
		if IsValkeyNode(other, spec) {
			t.Errorf("another %s is not seen", what)
		}
	}
}

func TestTheAPIServerMayReadOneSecret(t *testing.T) {
	role, binding := ValkeyAccessRole(testValkey(nil)), ValkeyAccessBinding(testValkey(nil), "system")
	if len(role.Rules) != 1 || strings.Join(role.Rules[0].ResourceNames, " ") != naming.SystemPasswordsSecret("v") || strings.Join(role.Rules[0].Verbs, " ") != "get" {
		t.Errorf("role: %+v", role.Rules)
	}
	if len(binding.Subjects) != 1 || *binding.Subjects[0].Namespace != "system" || *binding.RoleRef.Name != *role.Name {
		t.Errorf("binding: %+v", binding)
	}
}
