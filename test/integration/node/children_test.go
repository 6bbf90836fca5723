// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package node

import (
	"context"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const namespace = "restricted"

// api is a client of a kube-apiserver that lives as long as the package's tests.
var api client.Client

func TestMain(m *testing.M) {
	os.Exit(func() int {
		environment := &envtest.Environment{}
		config, err := environment.Start()
		if err != nil {
			panic("start kube-apiserver and etcd: " + err.Error())
		}
		defer func() { _ = environment.Stop() }()
		if api, err = client.New(config, client.Options{}); err != nil {
			panic(err)
		}
		home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
			"pod-security.kubernetes.io/enforce": "restricted",
		}}}
		if err := api.Create(context.Background(), home); err != nil {
			panic(err)
		}
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "grows"}, Provisioner: "test", AllowVolumeExpansion: ptr.To(true)}
		if err := api.Create(context.Background(), class); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// get is the live object, or nil.
func get[T client.Object](t *testing.T, name string, object T) T {
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

func newNode(name string, spec v1alpha1.ValkeyNodeSpec) *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: types.UID("uid-of-" + name)}, Spec: spec}
}

func observe(t *testing.T, node *v1alpha1.ValkeyNode, agentImage string) plan.Observed {
	t.Helper()
	o := plan.Observed{
		Now: time.Now(), Node: node,
		Environment: plan.Environment{AgentImage: agentImage, DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"}},
	}
	workload := naming.NodeWorkload(node.Name)
	if node.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment {
		o.Objects.Deployment = get(t, workload, &appsv1.Deployment{})
	} else {
		o.Objects.StatefulSet = get(t, workload, &appsv1.StatefulSet{})
	}
	o.Objects.Service = get(t, workload, &corev1.Service{})
	if node.Spec.Persistence != nil {
		o.Objects.Claim = get(t, naming.NodeClaim(node.Name), &corev1.PersistentVolumeClaim{})
	}
	if node.Spec.ServerConfigMapName == "" {
		o.Objects.ConfigMap = get(t, naming.NodeConfigMap(node.Name), &corev1.ConfigMap{})
	}
	return o
}

// pass makes one pass and returns what was planned.
func pass(t *testing.T, node *v1alpha1.ValkeyNode, agentImage string) plan.Plan {
	t.Helper()
	decided := plan.Compute(observe(t, node, agentImage))
	for _, action := range decided.Actions {
		apply, ok := action.(plan.Apply)
		if !ok {
			t.Fatalf("unexpected: %s", action)
		}
		if err := api.Apply(t.Context(), apply.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
			t.Fatalf("%s: %v", action, err)
		}
	}
	return decided
}

// settled makes two passes, of which the second must find nothing to do.
func settled(t *testing.T, node *v1alpha1.ValkeyNode, when string) plan.Plan {
	t.Helper()
	pass(t, node, "agent:1")
	again := pass(t, node, "agent:1")
	if len(again.Actions) != 0 || len(again.Blocked) != 0 {
		t.Fatalf("%s: a second pass wants to:\n%s\n%v", when, again, again.Blocked)
	}
	return again
}

// everything sets whatever has an effect on a child.
func everything() v1alpha1.ValkeyNodeSpec {
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}}
	return v1alpha1.ValkeyNodeSpec{
		Valkey: "v", Image: "docker.io/valkey/valkey:9.1",
		ServerConfigMapName: "valkey-v", UsersACLSecretName: "internal-v-acl", SystemPasswordsSecretName: "internal-v-system-passwords",
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		Persistence:      &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi"), StorageClassName: ptr.To("grows"), ReclaimPolicy: v1alpha1.ReclaimDelete},
		Exporter: v1alpha1.ExporterSpec{
			Enabled: true, Args: []string{"--x"}, SecurityContext: &corev1.SecurityContext{RunAsUser: ptr.To[int64](1234)},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}},
		},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1024Mi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("0.1")},
		},
		PodLabels: map[string]string{"a": "b"}, PodAnnotations: map[string]string{"c": "d"},
		PodSecurityContext:            &corev1.PodSecurityContext{SupplementalGroups: []int64{7}},
		TerminationGracePeriodSeconds: ptr.To[int64](90),
		Scheduling: v1alpha1.SchedulingSpec{
			Tolerations:       []corev1.Toleration{{Key: "x"}, {Key: "y", Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](3), Effect: corev1.TaintEffectNoExecute}},
			NodeSelector:      map[string]string{"kubernetes.io/os": "linux"},
			PriorityClassName: "system-cluster-critical",
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
				PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 3, Preference: term}},
			}},
			TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 2, TopologyKey: "rack", WhenUnsatisfiable: corev1.ScheduleAnyway}},
			Node:                      v1alpha1.NodePlacement{Spread: v1alpha1.SpreadSpec{Pods: v1alpha1.PodSpread{Mode: v1alpha1.SpreadRequired}}},
			Zone:                      v1alpha1.ZonePlacement{Pinning: &v1alpha1.ZonePinning{Zones: []string{"z1"}}},
		},
		Containers: []corev1.Container{
			{Name: "server", Env: []corev1.EnvVar{{Name: "TZ", Value: "UTC"}, {Name: "CPU", ValueFrom: &corev1.EnvVarSource{
				ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "requests.cpu"},
			}}}},
			{
				Name: "sidecar", Image: "example.org/sidecar",
				Ports: []corev1.ContainerPort{{ContainerPort: 80, Name: "http"}},
				Env: []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
					{Name: "S", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}}},
				EnvFrom:        []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
				Lifecycle:      &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
				VolumeMounts:   []corev1.VolumeMount{{Name: "data", MountPath: "/data", ReadOnly: true}},
			},
		},
	}
}

func TestASecondPassWritesNothing(t *testing.T) {
	for name, spec := range map[string]v1alpha1.ValkeyNodeSpec{
		"by-hand":    {Config: map[string]string{"maxmemory": "1gb"}},
		"persistent": {Persistence: &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi")}},
		"deployment": {WorkloadType: v1alpha1.WorkloadTypeDeployment},
		"everything": everything(),
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode(name, spec)
			settled(t, node, "made")
			node.Spec.Image = "docker.io/valkey/valkey:8.0"
			node.Spec.PodLabels = map[string]string{"other": "label"}
			node.Spec.Scheduling = v1alpha1.SchedulingSpec{}
			node.Spec.Containers = append([]corev1.Container{{Name: "first", Image: "example.org/first"}}, node.Spec.Containers...)
			node.Spec.WorkloadRevision = desired.NodeRevision(node.Spec)
			settled(t, node, "changed")
			pass(t, node, "agent:2")
			if again := pass(t, node, "agent:2"); len(again.Actions) != 0 {
				t.Errorf("with another agent a second pass wants to:\n%s", again)
			}
		})
	}
}

func TestAChangeThatWaitsLeavesTheTemplateAndSettles(t *testing.T) {
	node := newNode("waits", everything())
	settled(t, node, "made")
	before := get(t, naming.NodeWorkload("waits"), &appsv1.StatefulSet{})
	node.Spec.Image = "docker.io/valkey/valkey:8.0"
	settled(t, node, "changed, and not authorised")
	after := get(t, naming.NodeWorkload("waits"), &appsv1.StatefulSet{})
	if before.Generation != after.Generation {
		t.Errorf("the StatefulSet was changed:\n%v\n%v", before.Spec.Template, after.Spec.Template)
	}
	// What is no part of the template is mended meanwhile.
	after.Spec.Replicas = ptr.To[int32](0)
	if err := api.Update(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	settled(t, node, "scaled by somebody")
	mended := get(t, naming.NodeWorkload("waits"), &appsv1.StatefulSet{})
	if *mended.Spec.Replicas != 1 || mended.Spec.Template.Spec.Containers[0].Image != "docker.io/valkey/valkey:9.1" {
		t.Errorf("%d replicas of %s", *mended.Spec.Replicas, mended.Spec.Template.Spec.Containers[0].Image)
	}
}

func TestWhatSomebodyChangedInAStatefulSetGoesBack(t *testing.T) {
	node := newNode("drift", v1alpha1.ValkeyNodeSpec{})
	settled(t, node, "made")
	live := get(t, naming.NodeWorkload("drift"), &appsv1.StatefulSet{})
	live.Spec.Template.Spec.Containers[0].Image = "example.org/evil"
	live.Spec.Template.Spec.DNSPolicy = corev1.DNSDefault
	if err := api.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	settled(t, node, "changed by somebody")
	mended := get(t, naming.NodeWorkload("drift"), &appsv1.StatefulSet{}).Spec.Template.Spec
	if mended.Containers[0].Image != v1alpha1.DefaultImage || mended.DNSPolicy != corev1.DNSNone {
		t.Errorf("image %s, DNS policy %s", mended.Containers[0].Image, mended.DNSPolicy)
	}
}

// bind does what a volume controller would.
func bind(t *testing.T, name string) {
	t.Helper()
	claim := get(t, name, &corev1.PersistentVolumeClaim{})
	claim.Status.Phase, claim.Status.Capacity = corev1.ClaimBound, claim.Spec.Resources.Requests
	if err := api.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}

func TestClaimsGrowAndSettle(t *testing.T) {
	spec := v1alpha1.ValkeyNodeSpec{Persistence: &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi"), StorageClassName: ptr.To("grows")}}
	node := newNode("grows", spec)
	settled(t, node, "made")
	bind(t, "valkey-grows-data")
	settled(t, node, "bound")
	node.Spec.Persistence.Capacity = resource.MustParse("2Gi")
	settled(t, node, "grown")
	claim := get(t, "valkey-grows-data", &corev1.PersistentVolumeClaim{})
	if got := claim.Spec.Resources.Requests[corev1.ResourceStorage]; got.String() != "2Gi" {
		t.Errorf("the claim asks for %s", got.String())
	}

	// The node goes, the claim stays, and a smaller node of another class and without a say in it takes it up.
	for _, object := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}} {
		object.SetNamespace(namespace)
		object.SetName("valkey-grows")
		if err := api.Delete(t.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Fatal(err)
		}
	}
	again := newNode("grows", v1alpha1.ValkeyNodeSpec{Persistence: &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("512Mi"), ReclaimPolicy: v1alpha1.ReclaimDelete}})
	again.UID = "uid-of-another"
	again.Spec.ServerConfigMapName = "elsewhere"
	settled(t, again, "taken up")
	claim = get(t, "valkey-grows-data", &corev1.PersistentVolumeClaim{})
	if got := claim.Spec.Resources.Requests[corev1.ResourceStorage]; got.String() != "2Gi" || !desired.IsOwnedBy(claim, again) {
		t.Errorf("the claim asks for %s, owners %v", got.String(), claim.OwnerReferences)
	}
}

func TestAClaimThatTheClusterDoesNotLetGrowIsReportedAndStopsNothing(t *testing.T) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fixed"}, Provisioner: "test"}
	if err := api.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	node := newNode("fixed", v1alpha1.ValkeyNodeSpec{Persistence: &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi"), StorageClassName: ptr.To("fixed")}})
	settled(t, node, "made")
	bind(t, "valkey-fixed-data")
	node.Spec.Persistence.Capacity = resource.MustParse("2Gi")
	decided := plan.Compute(observe(t, node, "agent:1"))
	var outcomes []plan.Outcome
	for _, action := range decided.Actions {
		apply, ok := action.(plan.Apply)
		if !ok || apply.Kind != plan.KindClaim {
			t.Fatalf("unexpected: %s", action)
		}
		err := api.Apply(t.Context(), apply.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership)
		outcomes = append(outcomes, plan.Outcome{Action: action, Err: err})
	}
	if len(outcomes) != 1 || outcomes[0].Err == nil {
		t.Fatalf("the API accepted it: %v", outcomes)
	}
	for _, condition := range plan.Status(observe(t, node, "agent:1"), decided, outcomes).Conditions {
		switch condition.Type {
		case v1alpha1.ConditionPersistentVolumeClaimReady:
			if condition.Status != metav1.ConditionTrue {
				t.Errorf("the claim is bound, and the condition says %s", condition.Message)
			}
		case v1alpha1.ConditionPersistentVolumeClaimSizeReady:
			if condition.Reason != v1alpha1.ReasonResizeFailed {
				t.Errorf("%s: %s", condition.Reason, condition.Message)
			}
		}
	}
}
