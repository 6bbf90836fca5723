// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const namespace = "shop"

// model is a cluster of one node: it carries out plans, plays the StatefulSet's controller, the kubelet and the server, and is looked at again.
type model struct {
	t       testing.TB
	client  *fake.Clientset
	now     time.Time
	node    *v1alpha1.ValkeyNode
	env     Environment
	memory  Memory
	missing []Missing
	trouble []Trouble

	pod     *corev1.Pod
	podsRun int
	// badImages cannot be pulled.
	badImages map[string]bool
	// server of the pod.
	runID   string
	config  map[string]string
	refuses map[string]string
	spells  map[string]string
	acl     string
	mounted string
	aclFile string
	// forNow: what is refused is refused for the lack of a right.
	forNow bool
	// files are those of the ConfigMap, filesInPod what the agent says; agentAsked counts how often.
	files, filesInPod Mounts
	agentAsked        int
	isSilent          bool

	log []string
}

func newModel(t testing.TB, node *v1alpha1.ValkeyNode) *model {
	t.Helper()
	node.Namespace, node.Generation = namespace, 1
	if node.UID == "" {
		node.UID = types.UID("uid-" + node.Name)
	}
	return &model{
		t: t, client: fake.NewClientset(), node: node, now: time.Unix(1_700_000_000, 0),
		env:       Environment{AgentImage: "agent:1", DNS: boot.DNS{Upstreams: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"}},
		badImages: map[string]bool{}, refuses: map[string]string{}, spells: map[string]string{},
	}
}

// pass makes one pass and returns what was planned.
func (m *model) pass() Plan {
	m.t.Helper()
	observed := m.observe()
	decided := Compute(observed)
	m.log = append(m.log, decided.Log...)
	disruptive := 0
	var outcomes []Outcome
	for _, action := range decided.Actions {
		if _, ok := action.(ReplacePod); ok {
			disruptive++
		}
		outcomes = append(outcomes, m.act(action))
	}
	if disruptive > 1 {
		m.t.Fatalf("%d disruptive actions in one plan:\n%s", disruptive, decided)
	}
	m.memory = Remember(decided, outcomes, observed.Now)
	m.node.Status = Status(observed, decided, outcomes)
	m.cluster()
	m.now = m.now.Add(time.Second)
	return decided
}

// settle makes passes until one plans nothing, and fails if none does.
func (m *model) settle() {
	m.t.Helper()
	for range 300 {
		if decided := m.pass(); len(decided.Actions) == 0 && decided.RequeueAfter != lookSoon {
			return
		}
	}
	m.t.Fatalf("no end of passes:\n%s", strings.Join(m.log, "\n"))
}

func (m *model) observe() Observed {
	m.t.Helper()
	ctx, name := context.Background(), naming.NodeWorkload(m.node.Name)
	o := Observed{Now: m.now, Node: m.node.DeepCopy(), Environment: m.env, Memory: m.memory, Missing: m.missing, Trouble: m.trouble}
	o.Terminating = m.node.DeletionTimestamp != nil
	o.Objects.StatefulSet = orNil[appsv1.StatefulSet](m.t)(m.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{}))
	if m.node.Spec.WorkloadType == v1alpha1.WorkloadTypeDeployment {
		o.Objects.Deployment = orNil[appsv1.Deployment](m.t)(m.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{}))
	}
	o.Objects.Service = orNil[corev1.Service](m.t)(m.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{}))
	if m.node.Spec.Persistence != nil {
		o.Objects.Claim = orNil[corev1.PersistentVolumeClaim](m.t)(m.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, naming.NodeClaim(m.node.Name), metav1.GetOptions{}))
	}
	if m.node.Spec.ServerConfigMapName == "" {
		o.Objects.ConfigMap = orNil[corev1.ConfigMap](m.t)(m.client.CoreV1().ConfigMaps(namespace).Get(ctx, naming.NodeConfigMap(m.node.Name), metav1.GetOptions{}))
	}
	if m.node.Spec.UsersACLSecretName != "" {
		o.Objects.ACL = m.aclFile
	}
	if m.pod != nil {
		o.Objects.Pods = []*corev1.Pod{m.pod.DeepCopy()}
	}
	o.Objects.Mounts = m.files
	if o.AwaitsMounts() {
		o.Mounted = m.filesInPod
		m.agentAsked++
	}
	if Answers(m.pod) && !m.isSilent {
		o.Server = m.server()
	} else if Answers(m.pod) {
		o.Server.Reach = topology.Reach{Class: topology.ReachTimeout, Text: "no answer"}
	}
	return o
}

func (m *model) server() Server {
	server := Server{Reach: topology.Reach{Class: topology.ReachOK}, RunID: m.runID, Version: "8.1.1", Role: topology.RolePrimary, Config: map[string]string{}}
	for _, directive := range LiveConfig(m.node, server.Version) {
		server.Config[directive.Name] = m.config[directive.Name]
	}
	if m.node.Spec.UsersACLSecretName != "" {
		server.ACL = strings.Split(strings.TrimSpace(m.acl), "\n")
	}
	return server
}

func (m *model) act(action Action) Outcome {
	m.t.Helper()
	ctx, options := context.Background(), metav1.ApplyOptions{FieldManager: naming.FieldManager, Force: true}
	outcome := Outcome{Action: action}
	switch action := action.(type) {
	case Apply:
		switch config := action.Config.(type) {
		case *appsv1ac.StatefulSetApplyConfiguration:
			_, outcome.Err = m.client.AppsV1().StatefulSets(namespace).Apply(ctx, config, options)
		case *appsv1ac.DeploymentApplyConfiguration:
			_, outcome.Err = m.client.AppsV1().Deployments(namespace).Apply(ctx, config, options)
		case *corev1ac.ServiceApplyConfiguration:
			_, outcome.Err = m.client.CoreV1().Services(namespace).Apply(ctx, config, options)
		case *corev1ac.PersistentVolumeClaimApplyConfiguration:
			_, outcome.Err = m.client.CoreV1().PersistentVolumeClaims(namespace).Apply(ctx, config, options)
		case *corev1ac.ConfigMapApplyConfiguration:
			_, outcome.Err = m.client.CoreV1().ConfigMaps(namespace).Apply(ctx, config, options)
		default:
			m.t.Fatalf("cannot apply %T", action.Config)
		}
		if outcome.Err != nil {
			m.t.Fatalf("%s: %v", action, outcome.Err)
		}
	case ReplacePod:
		if m.pod == nil || m.pod.UID != action.UID {
			m.t.Fatalf("%s, which is not there", action)
		}
		m.pod = nil
	case SetConfig:
		if words := m.refuses[action.Key]; words != "" {
			outcome.Refused, outcome.ForNow, outcome.Err = words, m.forNow, fmt.Errorf("%s", words)
			break
		}
		m.config[action.Key] = action.Value
		if spelled, ok := m.spells[action.Value]; ok {
			m.config[action.Key] = spelled
		}
		outcome.Reported = m.config[action.Key]
	case LoadACL:
		m.acl = reportedACL(m.mounted)
	case RefreshMounts:
		m.pod.Annotations[AnnotationMounts] = action.Mark
	}
	return outcome
}

// cluster is what the StatefulSet's controller, the volume controller and the kubelet do between two passes.
func (m *model) cluster() {
	m.t.Helper()
	ctx := context.Background()
	if m.node.Spec.Persistence != nil {
		claims := m.client.CoreV1().PersistentVolumeClaims(namespace)
		if claim := orNil[corev1.PersistentVolumeClaim](m.t)(claims.Get(ctx, naming.NodeClaim(m.node.Name), metav1.GetOptions{})); claim != nil {
			claim.Status.Phase = corev1.ClaimBound
			claim.Status.Capacity = claim.Spec.Resources.Requests
			if _, err := claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
				m.t.Fatal(err)
			}
		}
	}
	set := orNil[appsv1.StatefulSet](m.t)(m.client.AppsV1().StatefulSets(namespace).Get(ctx, naming.NodeWorkload(m.node.Name), metav1.GetOptions{}))
	if set == nil || len(set.Spec.Template.Spec.Containers) == 0 {
		return // or somebody else's
	}
	set.Status.ObservedGeneration = set.Generation
	set.Status.UpdateRevision = "hash-" + valkeyconf.Hash(set.Spec.Template.String())[:8]
	if _, err := m.client.AppsV1().StatefulSets(namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	if m.pod == nil {
		m.startPod(set)
	}
}

func (m *model) startPod(set *appsv1.StatefulSet) {
	m.podsRun++
	controller := true
	m.pod = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: set.Name + "-0", UID: types.UID(fmt.Sprintf("pod-%d", m.podsRun)), CreationTimestamp: metav1.NewTime(m.now),
			Labels: maps.Clone(set.Spec.Template.Labels), Annotations: maps.Clone(set.Spec.Template.Annotations),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: &controller}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: set.Spec.Template.Spec.Containers},
	}
	m.pod.Labels[appsv1.ControllerRevisionHashLabelKey] = set.Status.UpdateRevision
	image := set.Spec.Template.Spec.Containers[0].Image
	agent := set.Spec.Template.Spec.InitContainers[0].Image
	if m.badImages[image] || m.badImages[agent] {
		m.pod.Status.Phase = corev1.PodPending
		m.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", Image: image, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
		}}}
		return
	}
	m.pod.Status.Phase, m.pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
	m.pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", Image: image, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	m.pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	m.runID, m.mounted = fmt.Sprintf("run-%d", m.podsRun), m.aclFile
	m.acl, m.config = reportedACL(m.mounted), map[string]string{}
	for _, directive := range LiveConfig(m.node, "8.1.1") {
		m.config[directive.Name] = directive.Value()
	}
}

// reportedACL is how a server reports the users of a file.
func reportedACL(file string) string {
	return strings.NewReplacer(" on ", " on sanitize-payload ", "allkeys", "~*").Replace(file)
}

// orNil is a live object as it was read, and nil where there is none.
func orNil[T any](t testing.TB) func(*T, error) *T {
	return func(object *T, err error) *T {
		t.Helper()
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
}
