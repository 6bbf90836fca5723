// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sentinel

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// startAPI is a client of a kube-apiserver that lives as long as the test.
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

// get is the live object, or nil.
func get[T client.Object](t *testing.T, api client.Client, name string, object T) T {
	t.Helper()
	err := api.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, object)
	if apierrors.IsNotFound(err) {
		var none T
		return none
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func observe(t *testing.T, api client.Client, set *v1alpha1.ValkeySentinel) plan.Observed {
	t.Helper()
	workload, access := naming.SentinelWorkload(set.Name), naming.SentinelAPIServerRole(set.Name)
	observed := plan.Observed{
		Set:         set,
		Environment: plan.Environment{AgentImage: "agent:1", DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"}, SystemNamespace: "valkey-system"},
		Objects: plan.Objects{
			Passwords:   get(t, api, naming.SentinelPasswordsSecret(set.Name), &corev1.Secret{}),
			Boot:        get(t, api, naming.SentinelBootSecret(set.Name), &corev1.Secret{}),
			Service:     get(t, api, workload, &corev1.Service{}),
			Workload:    get(t, api, workload, &appsv1.StatefulSet{}),
			Budget:      get(t, api, workload, &policyv1.PodDisruptionBudget{}),
			Role:        get(t, api, access, &rbacv1.Role{}),
			RoleBinding: get(t, api, access, &rbacv1.RoleBinding{}),
		},
	}
	observed.Noted = plan.NotedSettings(set, observed.Objects.Boot)
	return observed
}

// carryOut sends a plan to the API.
func carryOut(ctx context.Context, t *testing.T, api client.Client, decided plan.Plan) {
	t.Helper()
	for _, action := range decided.Actions {
		var err error
		switch action := action.(type) {
		case plan.Apply:
			err = api.Apply(ctx, action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
		case plan.Scale:
			err = api.Apply(ctx, action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
		case plan.Delete:
			err = api.Delete(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: action.Name}})
		default:
			t.Fatalf("unexpected %s", action)
		}
		if err != nil {
			t.Fatalf("%s: %v", action, err)
		}
	}
}

// TestASecondPassWritesNothing: what a real API server makes of the children, with its defaults, must be seen to be what was asked for.
func TestASecondPassWritesNothing(t *testing.T) {
	api := startAPI(t)
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-of-" + name)}}
			set.Spec.Replicas = 3
			passwords := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
				Name: naming.SentinelPasswordsSecret(name), Namespace: "default",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkeySentinel))},
			}, Data: map[string][]byte{}}
			for _, user := range append(naming.SentinelSystemUsers(), naming.UserExporter) {
				passwords.Data[user] = []byte("password")
			}
			if err := api.Create(t.Context(), passwords); err != nil {
				t.Fatal(err)
			}
			wantSettled := func(when string) {
				t.Helper()
				carryOut(t.Context(), t, api, plan.Compute(observe(t, api, set)))
				after := observe(t, api, set).Objects
				if after.Workload == nil || after.Boot == nil || after.Service == nil || after.Role == nil || after.RoleBinding == nil {
					t.Fatalf("%s: children are missing: %+v", when, after)
				}
				if again := plan.Compute(observe(t, api, set)); len(again.Actions) != 0 {
					t.Errorf("%s: a second pass wants to:\n%s", when, again)
				}
			}
			change.first(&set.Spec)
			wantSettled("made")
			if change.then != nil {
				change.then(&set.Spec)
				wantSettled("changed")
			}
		})
	}
}

// changes are what a set is made with, and what is changed then.
var changes = map[string]struct {
	first, then func(*v1alpha1.ValkeySentinelSpec)
}{
	"plain":   {func(*v1alpha1.ValkeySentinelSpec) {}, func(spec *v1alpha1.ValkeySentinelSpec) { spec.Image = "another:1" }},
	"larger":  {func(spec *v1alpha1.ValkeySentinelSpec) { spec.Replicas = 5 }, nil},
	"on-disk": {onDisk, func(spec *v1alpha1.ValkeySentinelSpec) { spec.Persistence.ReclaimPolicy = v1alpha1.ReclaimDelete }},
	"fixed":   {onDisk, func(spec *v1alpha1.ValkeySentinelSpec) { spec.Persistence = nil }},
	"no-budget": {func(*v1alpha1.ValkeySentinelSpec) {}, func(spec *v1alpha1.ValkeySentinelSpec) {
		spec.PodDisruptionBudget.Mode = v1alpha1.PodDisruptionBudgetDisabled
	}},
	"all": {everything, func(spec *v1alpha1.ValkeySentinelSpec) {
		spec.Exporter = v1alpha1.ExporterSpec{}
		spec.Containers = nil
		spec.PodLabels = map[string]string{"a": "c"}
	}},
}

func onDisk(spec *v1alpha1.ValkeySentinelSpec) {
	spec.Persistence = &v1alpha1.SentinelPersistenceSpec{Capacity: resource.MustParse("64Mi"), ReclaimPolicy: v1alpha1.ReclaimRetain}
}

func everything(spec *v1alpha1.ValkeySentinelSpec) {
	onDisk(spec)
	spec.Config = map[string]string{"loglevel": "verbose"}
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	spec.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1"), corev1.ResourceMemory: resource.MustParse("1024Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
	spec.Scheduling = v1alpha1.SchedulingSpec{
		Tolerations:               []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		NodeSelector:              map[string]string{"disk": "fast"},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway}},
		Node:                      v1alpha1.NodePlacement{Spread: v1alpha1.SpreadSpec{Pods: v1alpha1.PodSpread{Mode: v1alpha1.SpreadRequired}}},
		Zone:                      v1alpha1.ZonePlacement{Pinning: &v1alpha1.ZonePinning{Zones: []string{"a", "b"}}},
	}
	spec.Users = []v1alpha1.UserSpec{{Name: "app", NoPass: true, Commands: &v1alpha1.UserCommands{Allow: []string{"ping"}}}}
	spec.Exporter = v1alpha1.ExporterSpec{Enabled: true, Args: []string{"--debug"}}
	spec.Containers = []corev1.Container{{Name: "sidecar", Image: "side:1", Env: []corev1.EnvVar{{Name: "X", Value: "1"}}}, {Name: naming.ContainerSentinel, Env: []corev1.EnvVar{{Name: "Y", Value: "2"}}}}
	spec.PodLabels = map[string]string{"a": "b"}
	spec.PodAnnotations = map[string]string{"c": "d"}
}
