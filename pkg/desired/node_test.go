// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

func byHand() *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "solo", UID: "uid-solo"}}
}

func ofValkey() *v1alpha1.ValkeyNode {
	node := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart-0", UID: "uid-cart-0"}}
	node.Spec = v1alpha1.ValkeyNodeSpec{
		Valkey:                    "cart",
		Image:                     "docker.io/valkey/valkey:9.1",
		ServerConfigMapName:       "valkey-cart",
		UsersACLSecretName:        "internal-cart-acl",
		SystemPasswordsSecretName: "internal-cart-system-passwords",
		Exporter:                  v1alpha1.ExporterSpec{Enabled: true, Args: []string{"--include-system-metrics"}},
		Persistence:               &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi"), StorageClassName: ptr.To("fast")},
		ImagePullSecrets:          []corev1.LocalObjectReference{{Name: "registry"}},
		PodLabels:                 map[string]string{"team": "shop", "valkey.io/valkey": "not-yours"},
		PodAnnotations:            map[string]string{"note": "hello"},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		},
		Scheduling: v1alpha1.SchedulingSpec{
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}},
			Node:        v1alpha1.NodePlacement{Spread: v1alpha1.SpreadSpec{Pods: v1alpha1.PodSpread{Mode: v1alpha1.SpreadRequired}}},
			Zone:        v1alpha1.ZonePlacement{Pinning: &v1alpha1.ZonePinning{Zones: []string{"a", "b"}}},
		},
		Containers: []corev1.Container{
			{Name: "server", Env: []corev1.EnvVar{{Name: "TZ", Value: "UTC"}}},
			{Name: "sidecar", Image: "example.org/sidecar:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}, Env: []corev1.EnvVar{
				{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
			}},
		},
	}
	return node
}

func TestNodeObjects(t *testing.T) {
	statefulSet := func(node *v1alpha1.ValkeyNode) any {
		got, err := NodeStatefulSet(NodeInput{Node: node, AgentImage: "valkeykube/valkey-agent:dev"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	golden(t, "node_statefulset_by_hand", statefulSet(byHand()))
	golden(t, "node_statefulset_of_valkey", statefulSet(ofValkey()))
	cache := byHand()
	cache.Spec.WorkloadType = v1alpha1.WorkloadTypeDeployment
	deployment, err := NodeWorkload(NodeInput{Node: cache, AgentImage: "valkeykube/valkey-agent:dev"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "node_deployment", deployment)
	golden(t, "node_service", NodeService(ofValkey()))
	golden(t, "node_claim", NodeClaim(ofValkey(), nil))
	solo := byHand()
	solo.Spec.Config = map[string]string{"maxmemory-policy": "allkeys-lru", "port": "7000"}
	configMap, err := NodeConfigMap(solo, boot.DNS{Upstreams: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "node_configmap_by_hand", configMap)
}

func TestNodePodsPassTheRestrictedStandard(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	withExporter := ofValkey()
	withExporter.Spec.Containers = nil
	privileged := ofValkey()
	privileged.Spec.Containers = []corev1.Container{{Name: "server", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}}
	cache := byHand()
	cache.Spec.WorkloadType = v1alpha1.WorkloadTypeDeployment
	for name, tc := range map[string]struct {
		node *v1alpha1.ValkeyNode
		want bool
	}{
		"made by hand":                          {byHand(), true},
		"of a Valkey, with exporter and volume": {withExporter, true},
		"a cache":                               {cache, true},
		"a container the user made privileged":  {privileged, false},
	} {
		t.Run(name, func(t *testing.T) {
			template := typedTemplate(t, tc.node)
			results := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec))
			if results.Allowed != tc.want {
				t.Errorf("allowed = %v, want %v: %s", results.Allowed, tc.want, results.ForbiddenDetail())
			}
		})
	}
}

// typedTemplate is the pod template of the node's workload as the API server would decode it.
func typedTemplate(t *testing.T, node *v1alpha1.ValkeyNode) corev1.PodTemplateSpec {
	t.Helper()
	workload, err := NodeWorkload(NodeInput{Node: node, AgentImage: "valkeykube/valkey-agent:dev"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(workload)
	if err != nil {
		t.Fatal(err)
	}
	var decoded struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded.Spec.Template
}

func TestTheAgentIsToldAGracePeriodThatTheUserChose(t *testing.T) {
	for _, chosen := range []*int64{nil, ptr.To[int64](15)} {
		node := &v1alpha1.ValkeyNode{Spec: v1alpha1.ValkeyNodeSpec{TerminationGracePeriodSeconds: chosen}}
		told := slices.ContainsFunc(nodePod(NodeInput{Node: node}).Main.Env, func(env *corev1ac.EnvVarApplyConfiguration) bool {
			return *env.Name == naming.EnvGracePeriod && *env.Value == "15"
		})
		if told != (chosen != nil) {
			t.Errorf("chosen: %t, told: %t", chosen != nil, told)
		}
	}
}

func TestOwnLabelsWinOverTheUsers(t *testing.T) {
	template := typedTemplate(t, ofValkey())
	if got := template.Labels["valkey.io/valkey"]; got != "cart" {
		t.Errorf("label valkey.io/valkey = %q, want cart: the Services would select another pod", got)
	}
	if template.Labels["team"] != "shop" || template.Annotations["note"] != "hello" {
		t.Errorf("the user's labels or annotations are lost: %v %v", template.Labels, template.Annotations)
	}
}

func TestUsersContainersAreMergedByName(t *testing.T) {
	containers := typedTemplate(t, ofValkey()).Spec.Containers
	names := make([]string, 0, len(containers))
	byName := map[string]corev1.Container{}
	for _, container := range containers {
		names = append(names, container.Name)
		byName[container.Name] = container
	}
	if diff := cmp.Diff([]string{"server", "metrics-exporter", "sidecar"}, names); diff != "" {
		t.Fatalf("containers (-want +got):\n%s", diff)
	}
	server := byName["server"]
	if len(server.Command) != 1 || server.Image != "docker.io/valkey/valkey:9.1" {
		t.Errorf("merging lost what is ours: %+v", server)
	}
	env := map[string]corev1.EnvVar{}
	for _, variable := range server.Env {
		env[variable.Name] = variable
	}
	if env["TZ"].Value != "UTC" || env["VALKEY_NODE"].Value != "cart-0" {
		t.Errorf("variables were not merged: %v", server.Env)
	}
	if got := byName["sidecar"].Env[0].ValueFrom.FieldRef.APIVersion; got != "v1" {
		t.Errorf("fieldRef.apiVersion = %q: a default of the server would come back as ours", got)
	}
}

func TestPodSecurityContextIsLaidOverTheDefault(t *testing.T) {
	node := byHand()
	node.Spec.PodSecurityContext = &corev1.PodSecurityContext{FSGroup: ptr.To[int64](1234)}
	got := typedTemplate(t, node).Spec.SecurityContext
	if *got.FSGroup != 1234 || *got.RunAsUser != 999 || !*got.RunAsNonRoot {
		t.Errorf("security context = %+v, want fsGroup 1234 over the defaults", got)
	}
}

func TestNodeRevisionChangesWithWhatThePodMustBeRestartedFor(t *testing.T) {
	base := NodeRevision(ofValkey().Spec)
	for name, tc := range map[string]struct {
		change func(*v1alpha1.ValkeyNodeSpec)
		want   bool
	}{
		"image":             {func(s *v1alpha1.ValkeyNodeSpec) { s.Image = "docker.io/valkey/valkey:8.0" }, true},
		"resources":         {func(s *v1alpha1.ValkeyNodeSpec) { s.Resources = corev1.ResourceRequirements{} }, true},
		"scheduling":        {func(s *v1alpha1.ValkeyNodeSpec) { s.Scheduling.PriorityClassName = "high" }, true},
		"exporter off":      {func(s *v1alpha1.ValkeyNodeSpec) { s.Exporter.Enabled = false }, true},
		"ACL Secret's name": {func(s *v1alpha1.ValkeyNodeSpec) { s.UsersACLSecretName = "other" }, true},
		"authorisation":     {func(s *v1alpha1.ValkeyNodeSpec) { s.WorkloadRevision = "abc" }, false},
		"a larger volume":   {func(s *v1alpha1.ValkeyNodeSpec) { s.Persistence.Capacity = resource.MustParse("2Gi") }, false},
		"reclaim policy":    {func(s *v1alpha1.ValkeyNodeSpec) { s.Persistence.ReclaimPolicy = v1alpha1.ReclaimDelete }, false},
		"AOF to RDB":        {func(s *v1alpha1.ValkeyNodeSpec) { s.Persistence.Mode = v1alpha1.PersistenceModeRDB }, false},
		"ServiceMonitor":    {func(s *v1alpha1.ValkeyNodeSpec) { s.Exporter.ServiceMonitor.Enabled = true }, false},
		"TLS that is off":   {func(s *v1alpha1.ValkeyNodeSpec) { s.TLS = &v1alpha1.TLSSpec{Port: ptr.To[int32](1)} }, false},
		"a live setting":    {func(s *v1alpha1.ValkeyNodeSpec) { s.Config = map[string]string{"maxmemory-policy": "allkeys-lru"} }, false},
		"a fixed setting":   {func(s *v1alpha1.ValkeyNodeSpec) { s.Config = map[string]string{"databases": "32"} }, true},
		"an ignored one":    {func(s *v1alpha1.ValkeyNodeSpec) { s.Config = map[string]string{"dir": "/elsewhere"} }, false},
		"another spelling":  {func(s *v1alpha1.ValkeyNodeSpec) { s.Resources.Limits["memory"] = resource.MustParse("0.25Gi") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := ofValkey().Spec
			tc.change(&spec)
			if got := NodeRevision(spec) != base; got != tc.want {
				t.Errorf("revision changes: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestANewAgentChangesTheTemplateAndNotTheRevision(t *testing.T) {
	old, err := NodeStatefulSet(NodeInput{Node: ofValkey(), AgentImage: "agent:1"})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := NodeStatefulSet(NodeInput{Node: ofValkey(), AgentImage: "agent:2"})
	if err != nil {
		t.Fatal(err)
	}
	if old.Annotations["valkey.io/workload-revision"] != fresh.Annotations["valkey.io/workload-revision"] {
		t.Error("the revision depends on the agent image: an upgrade would restart every pod")
	}
	if *fresh.Spec.Template.Spec.InitContainers[0].Image != "agent:2" {
		t.Error("new pods would not get the new agent")
	}
}

func TestClaimsGrowAndNeverShrink(t *testing.T) {
	live := func(size string) *corev1.PersistentVolumeClaim {
		claim := &corev1.PersistentVolumeClaim{}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		claim.Spec.StorageClassName = ptr.To("chosen-by-the-cluster")
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
		return claim
	}
	for size, want := range map[string]string{"512Mi": "1Gi", "1Gi": "1Gi", "5Gi": "5Gi"} {
		claim := NodeClaim(ofValkey(), live(size))
		got := (*claim.Spec.Resources.Requests)[corev1.ResourceStorage]
		if got.String() != want {
			t.Errorf("live %s: request %s, want %s", size, got.String(), want)
		}
		if claim.Spec.StorageClassName != nil || claim.Spec.AccessModes[0] != corev1.ReadWriteOncePod {
			t.Errorf("live %s: what cannot be changed was changed: %v %v", size, claim.Spec.StorageClassName, claim.Spec.AccessModes)
		}
	}
	if NodeClaim(byHand(), nil) != nil {
		t.Error("a claim without persistence")
	}
}

func TestOnlyReclaimPolicyDeleteOwnsTheClaim(t *testing.T) {
	node := ofValkey()
	if owners := NodeClaim(node, nil).OwnerReferences; len(owners) != 0 {
		t.Errorf("Retain: owners %v: the data would go with the node", owners)
	}
	node.Spec.Persistence.ReclaimPolicy = v1alpha1.ReclaimDelete
	if owners := NodeClaim(node, nil).OwnerReferences; len(owners) != 1 || *owners[0].UID != "uid-cart-0" {
		t.Errorf("Delete: owners %v", owners)
	}
}

func TestIsNodeClaim(t *testing.T) {
	labelled := map[string]string{"app.kubernetes.io/managed-by": "valkey-controller", "valkey.io/node": "cart-0"}
	controlledBy := func(uid string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: "valkey.io/v1alpha1", Kind: "ValkeyNode", Name: "cart-0", UID: "uid-" + "cart-0"}, {
			APIVersion: "valkey.io/v1alpha1", Kind: "ValkeyNode", Name: "x", UID: "", Controller: ptr.To(true),
		}}[map[string]int{"bystander": 0, "other": 1}[uid]:][:1]
	}
	for name, tc := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"left behind by an earlier node": {metav1.ObjectMeta{Labels: labelled}, true},
		"somebody else's":                {metav1.ObjectMeta{}, false},
		"another node's labels":          {metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "valkey-controller", "valkey.io/node": "x"}}, false},
		"controlled by another object":   {metav1.ObjectMeta{Labels: labelled, OwnerReferences: controlledBy("other")}, false},
		"owned, not controlled":          {metav1.ObjectMeta{Labels: labelled, OwnerReferences: controlledBy("bystander")}, true},
	} {
		if got := IsNodeClaim(&corev1.PersistentVolumeClaim{ObjectMeta: tc.meta}, ofValkey()); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestNodeWorkloadKeptNeedsSomethingToKeep(t *testing.T) {
	if _, err := NodeWorkloadKept(NodeInput{Node: ofValkey()}, runtime.Object(&appsv1.StatefulSet{})); err == nil {
		t.Error("no error: the template would be dropped")
	}
}

func TestANodeOfAValkeyUsesTheValkeysConfigMap(t *testing.T) {
	configMap, err := NodeConfigMap(ofValkey(), boot.DNS{})
	if configMap != nil || err != nil {
		t.Errorf("got %v, %v, want none", configMap, err)
	}
}

func TestServerConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		persistence *v1alpha1.PersistenceSpec
		own         valkeyconf.Config
		want        string
	}{
		"none":    {nil, nil, "appendonly no\nsave \"\"\nrdb-del-sync-files yes\n"},
		"default": {&v1alpha1.PersistenceSpec{}, nil, "appendonly yes\nsave \"\"\n"},
		"AOF":     {&v1alpha1.PersistenceSpec{Mode: v1alpha1.PersistenceModeAOF}, nil, "appendonly yes\nsave \"\"\n"},
		"RDB":     {&v1alpha1.PersistenceSpec{Mode: v1alpha1.PersistenceModeRDB}, nil, "appendonly no\nsave 3600 1 300 100 60 10000\n"},
		"both":    {&v1alpha1.PersistenceSpec{Mode: v1alpha1.PersistenceModeBoth}, nil, "appendonly yes\nsave 3600 1 300 100 60 10000\n"},
		"own":     {&v1alpha1.PersistenceSpec{Mode: v1alpha1.PersistenceModeRDB}, valkeyconf.Config{valkeyconf.D("SAVE", "60", "1")}, "appendonly no\nSAVE 60 1\n"},
	} {
		got, err := ServerConfig(tc.persistence, tc.own).Render()
		if err != nil || got != tc.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}
