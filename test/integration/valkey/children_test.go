// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package valkey

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

const namespace = "default"

func startAPI(t *testing.T) client.Client {
	t.Helper()
	environment := &envtest.Environment{}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func get[T client.Object](t *testing.T, api client.Client, name string, object T) T {
	t.Helper()
	err := api.Get(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		var none T
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// setup is a Valkey with one node, whose pod is real to the API and whose server is not.
type setup struct {
	t      *testing.T
	api    client.Client
	valkey *v1alpha1.Valkey
	node   *v1alpha1.ValkeyNode
	memory plan.Memory
}

func (s *setup) observe() plan.Observed {
	s.t.Helper()
	name, api := s.valkey.Name, s.api
	pod := get(s.t, api, naming.NodePod(s.node.Name), &corev1.Pod{})
	observed := plan.Observed{
		Now: time.Now(), Valkey: s.valkey, Memory: s.memory,
		Environment: plan.Environment{SystemNamespace: "valkey-system", DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"}},
		Nodes:       []plan.Node{{Index: 0, Object: s.node, Pod: pod}},
		Objects: plan.Objects{
			Passwords:     get(s.t, api, naming.SystemPasswordsSecret(name), &corev1.Secret{}),
			PasswordsCopy: get(s.t, api, naming.SystemPasswordsCopy(name), &corev1.Secret{}),
			ACL:           get(s.t, api, naming.ACLSecret(name), &corev1.Secret{}),
			Config:        get(s.t, api, naming.ServerConfigMap(name), &corev1.ConfigMap{}),
			Service:       get(s.t, api, naming.ValkeyService(name), &corev1.Service{}),
			Primary:       get(s.t, api, naming.PrimaryService(name), &corev1.Service{}),
			Replicas:      get(s.t, api, naming.ReplicasService(name), &corev1.Service{}),
			Endpoints:     get(s.t, api, naming.PrimaryEndpointSlice(name), &discoveryv1.EndpointSlice{}),
			Budget:        get(s.t, api, naming.ValkeyPDB(name), &policyv1.PodDisruptionBudget{}),
			Role:          get(s.t, api, naming.APIServerRole(name), &rbacv1.Role{}),
			RoleBinding:   get(s.t, api, naming.APIServerRole(name), &rbacv1.RoleBinding{}),
		},
	}
	observed.Snapshot.Members = []topology.Member{{
		Name: s.node.Name, Role: topology.RolePrimary, Reach: topology.Reach{Class: topology.ReachOK},
		Address: topology.Address{Host: naming.NodeHost(s.node.Name, namespace, "cluster.local"), Port: naming.PortValkey},
	}}
	return observed
}

// carryOut sends to the API what of a plan it serves.
func (s *setup) carryOut(decided plan.Plan) {
	s.t.Helper()
	for _, action := range decided.Actions {
		var err error
		switch action := action.(type) {
		case plan.Apply:
			if action.Kind == plan.KindNode {
				continue
			}
			err = s.api.Apply(s.t.Context(), action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
		case plan.Delete:
			err = s.api.Delete(s.t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Name}})
		default:
			s.t.Fatalf("unexpected %s", action)
		}
		if err != nil {
			s.t.Fatalf("%s: %v", action, err)
		}
	}
	s.memory = decided.Memory
}

func newSetup(t *testing.T, api client.Client, name string) *setup {
	t.Helper()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID("uid-of-" + name)}}
	v1alpha1.SetObjectDefaults_Valkey(valkey)
	owner := *metav1.NewControllerRef(valkey, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkey))
	node := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{
		Name: naming.NodeName(name, 0), Namespace: namespace, UID: types.UID("uid-of-node-" + name), OwnerReferences: []metav1.OwnerReference{owner}}}
	passwords := desired.ValkeyPasswordsSecret(valkey)
	for _, user := range naming.SystemUsers() {
		passwords.Data[user] = []byte("password")
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: naming.NodePod(node.Name), Namespace: namespace, Labels: naming.NodeLabels(name, node.Name)}}
	pod.Spec.Containers = []corev1.Container{{Name: naming.ContainerServer, Image: "image"}}
	for _, object := range []client.Object{passwords, pod} {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: "10.1.2.3", PodIPs: []corev1.PodIP{{IP: "10.1.2.3"}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: naming.ContainerServer, Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
	}
	if err := api.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return &setup{t: t, api: api, valkey: valkey, node: node}
}

// changes are specs, and how they change.
var changes = map[string]struct{ first, then func(*v1alpha1.ValkeySpec) }{
	"plain": {func(*v1alpha1.ValkeySpec) {}, func(spec *v1alpha1.ValkeySpec) {
		spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	}},
	"users": {func(spec *v1alpha1.ValkeySpec) {
		spec.Users = []v1alpha1.UserSpec{{Name: "app", NoPass: true, Permissions: "+@all ~* (+get ~x*)"}}
	}, func(spec *v1alpha1.ValkeySpec) { spec.Users = nil }},
	"no-budget": {func(*v1alpha1.ValkeySpec) {}, func(spec *v1alpha1.ValkeySpec) {
		spec.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled
	}},
	"configured": {func(spec *v1alpha1.ValkeySpec) { spec.Config = map[string]string{"maxmemory": "10mb"} },
		func(spec *v1alpha1.ValkeySpec) { spec.Config = map[string]string{"save": "60 1 30 2"} }},
}

// TestASecondPassWritesNothing: what a real API server makes of the children, with its defaults, must be seen to be what was asked for.
func TestASecondPassWritesNothing(t *testing.T) {
	api := startAPI(t)
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t, api, name)
			settled := func(when string) {
				t.Helper()
				s.carryOut(plan.Compute(s.observe()))
				s.node.Spec = desired.ValkeyNodeSpec(s.valkey, "")
				v1alpha1.SetObjectDefaults_ValkeyNode(s.node)
				s.node.Labels = naming.NodeLabels(name, s.node.Name)
				after := s.observe().Objects
				if after.ACL == nil || after.Config == nil || after.Service == nil || after.Primary == nil || after.Replicas == nil ||
					after.Endpoints == nil || after.Role == nil || after.RoleBinding == nil {
					t.Fatalf("%s: children are missing: %+v", when, after)
				}
				if again := plan.Compute(s.observe()); len(again.Actions) != 0 {
					t.Errorf("%s: a second pass wants to: %s", when, again)
				}
			}
			change.first(&s.valkey.Spec)
			settled("made")
			change.then(&s.valkey.Spec)
			settled("changed")
			if wanted := s.valkey.Spec.PodDisruptionBudget.Mode != v1alpha1.PodDisruptionBudgetDisabled; (s.observe().Objects.Budget != nil) != wanted {
				t.Errorf("budget wanted %v", wanted)
			}
		})
	}
}
