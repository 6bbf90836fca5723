// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func TestNetworkPolicies(t *testing.T) {
	clients := []v1alpha1.NetworkPolicyPeer{
		{PodLabels: map[string]string{"app": "web"}},
		{NamespaceLabels: map[string]string{"team": "shop"}},
		{PodLabels: map[string]string{"app": "job"}, NamespaceLabels: map[string]string{"team": "shop"}},
	}
	golden(t, "valkey_networkpolicy_plain", ValkeyNetworkPolicy(testValkey(func(spec *v1alpha1.ValkeySpec) {
		spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true}
	}), "valkey-system"))
	golden(t, "valkey_networkpolicy_full", ValkeyNetworkPolicy(testValkey(func(spec *v1alpha1.ValkeySpec) {
		spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true, Clients: clients}
		spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, SecretName: "s", Port: new(int32(7000))}
		spec.Exporter.Enabled = true
	}), "elsewhere"))
	set := plainSet()
	set.Spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true}
	golden(t, "sentinel_networkpolicy_plain", SentinelNetworkPolicy(set, "valkey-system"))
	set.Spec.Networking.NetworkPolicy.Clients = clients[:1]
	set.Spec.Exporter.Enabled = true
	golden(t, "sentinel_networkpolicy_full", SentinelNetworkPolicy(set, "valkey-system"))
}

func TestNoNetworkPolicyUnlessAskedFor(t *testing.T) {
	for name, spec := range map[string]*v1alpha1.NetworkPolicySpec{"none": nil, "off": {Clients: []v1alpha1.NetworkPolicyPeer{{}}}} {
		set := plainSet()
		set.Spec.Networking.NetworkPolicy = spec
		if SentinelNetworkPolicy(set, "s") != nil {
			t.Errorf("%s: a ValkeySentinel has one", name)
		}
		valkey := testValkey(func(of *v1alpha1.ValkeySpec) { of.Networking.NetworkPolicy = spec })
		if ValkeyNetworkPolicy(valkey, "s") != nil {
			t.Errorf("%s: a Valkey has one", name)
		}
	}
}

// pod is what a policy knows of whoever connects.
type pod struct {
	namespace string
	labels    map[string]string
}

// Everybody of ours is let in, as the pods are really labelled, and strangers where the spec says so.
func TestWhoIsLetIn(t *testing.T) {
	valkey := testValkey(func(spec *v1alpha1.ValkeySpec) {
		spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true, Clients: []v1alpha1.NetworkPolicyPeer{{PodLabels: map[string]string{"app": "web"}}}}
		spec.Networking.TLS = &v1alpha1.TLSSpec{Port: new(int32(7000))}
	})
	set := plainSet()
	set.Namespace = "ns"
	set.Spec.Networking.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Enabled: true}
	node := func(valkey string) pod { return pod{"ns", naming.NodeLabels(valkey, valkey+"-0")} }
	sentinel := func(set string) pod { return pod{"ns", naming.SentinelLabels(set)} }
	system := func(name string) pod { return pod{"sys", deployed(t, name)} }
	toValkey, toSentinel := live(t, ValkeyNetworkPolicy(valkey, "sys")), live(t, SentinelNetworkPolicy(set, "sys"))
	for name, c := range map[string]struct {
		policy  *networkingv1.NetworkPolicy
		from    pod
		in, out []int32
	}{
		"a member":                             {toValkey, node("v"), []int32{6379, 7000, 8379}, []int32{9121}},
		"a member of another Valkey":           {toValkey, node("w"), nil, []int32{6379, 7000, 8379, 9121}},
		"a Sentinel":                           {toValkey, sentinel("watch"), []int32{6379, 7000, 8379}, nil},
		"a Sentinel of a set to come":          {toValkey, sentinel("other"), []int32{6379, 7000, 8379}, nil},
		"a Sentinel of another namespace":      {toValkey, pod{"other", naming.SentinelLabels("watch")}, nil, []int32{6379, 8379}},
		"the controller":                       {toValkey, system("controller"), []int32{6379, 7000, 8379}, nil},
		"the API server":                       {toValkey, system("apiserver"), []int32{6379, 7000}, []int32{8379}},
		"somebody who calls himself so":        {toValkey, pod{"ns", deployed(t, "controller")}, nil, []int32{6379}},
		"somebody else of the installation":    {toValkey, pod{"sys", map[string]string{naming.LabelName: "etcd"}}, nil, []int32{6379}},
		"a client":                             {toValkey, pod{"ns", map[string]string{"app": "web"}}, []int32{6379, 7000}, []int32{8379, 9121}},
		"a client of another namespace":        {toValkey, pod{"other", map[string]string{"app": "web"}}, nil, []int32{6379, 8379}},
		"a stranger":                           {toValkey, pod{"ns", nil}, nil, []int32{6379, 7000, 8379}},
		"Sentinels: a peer":                    {toSentinel, sentinel("watch"), []int32{26379, 36379, 8379}, nil},
		"Sentinels: a Sentinel of another set": {toSentinel, sentinel("other"), []int32{26379, 36379}, []int32{8379}},
		"Sentinels: the agent of any Valkey":   {toSentinel, node("w"), []int32{26379, 36379, 8379}, nil},
		"Sentinels: the controller":            {toSentinel, system("controller"), []int32{26379, 36379}, []int32{8379}},
		"Sentinels: the API server":            {toSentinel, system("apiserver"), []int32{26379, 36379}, []int32{8379}},
		"Sentinels: every pod of theirs":       {toSentinel, pod{"ns", nil}, []int32{26379, 36379}, []int32{8379, 9121}},
		"Sentinels: another namespace":         {toSentinel, pod{"other", nil}, nil, []int32{26379, 36379, 8379}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, port := range c.in {
				if !lets(t, c.policy, c.from, port) {
					t.Errorf("%v is kept out of %d", c.from, port)
				}
			}
			for _, port := range c.out {
				if lets(t, c.policy, c.from, port) {
					t.Errorf("%v is let into %d", c.from, port)
				}
			}
		})
	}
}

// deployed are the labels that the pods of one of our Deployments really have.
func deployed(t *testing.T, part string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "artifacts", "deploy", part, "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.Unmarshal(text, &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Spec.Template.Labels
}

// live is the object that an apply makes.
func live(t *testing.T, config *networkingv1ac.NetworkPolicyApplyConfiguration) *networkingv1.NetworkPolicy {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(config)
	if err != nil {
		t.Fatal(err)
	}
	policy := &networkingv1.NetworkPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

// lets tells whether a policy lets a pod connect to a port. A namespace has the label that Kubernetes gives it.
func lets(t *testing.T, policy *networkingv1.NetworkPolicy, from pod, port int32) bool {
	t.Helper()
	for _, rule := range policy.Spec.Ingress {
		for _, open := range rule.Ports {
			if open.Port.IntVal != port {
				continue
			}
			for _, peer := range rule.From {
				if inNamespace(t, policy, peer, from.namespace) && selects(t, peer.PodSelector, from.labels) {
					return true
				}
			}
		}
	}
	return false
}

func inNamespace(t *testing.T, policy *networkingv1.NetworkPolicy, peer networkingv1.NetworkPolicyPeer, name string) bool {
	t.Helper()
	if peer.NamespaceSelector == nil {
		return name == policy.Namespace
	}
	return selects(t, peer.NamespaceSelector, map[string]string{"kubernetes.io/metadata.name": name})
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	if selector == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Matches(labels.Set(of))
}
