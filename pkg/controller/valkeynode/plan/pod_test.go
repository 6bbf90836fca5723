// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

var start = time.Unix(1_700_000_000, 0)

func podWith(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "valkey-cart-0-0", UID: "pod", CreationTimestamp: metav1.NewTime(start)}}
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodPending
	change(pod)
	return pod
}

func waiting(container, reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, Image: "valkey:typo", State: corev1.ContainerState{
		Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
	}}
}

func TestWhyANodeIsNotReady(t *testing.T) {
	ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	for name, tc := range map[string]struct {
		pod         *corev1.Pod
		missing     []Missing
		trouble     []Trouble
		word        string
		server      topology.Reach
		wantReason  string
		wantMessage string
	}{
		"no place": {
			pod: podWith(func(p *corev1.Pod) {
				p.Spec.NodeName = ""
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}
			}),
			wantReason: v1alpha1.ReasonUnschedulable, wantMessage: "0/3 nodes",
		},
		"a wrong image": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "ErrImagePull", "no such host")}
			}),
			wantReason: v1alpha1.ReasonImagePullFailed, wantMessage: "valkey:typo",
		},
		"a wrong agent image": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{waiting("agent", "ImagePullBackOff", "")}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "PodInitializing", "")}
			}),
			wantReason: v1alpha1.ReasonImagePullFailed, wantMessage: "container agent",
		},
		"a missing Secret in a variable": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "CreateContainerConfigError", `secret "mine" not found`)}
			}),
			wantReason: v1alpha1.ReasonContainerConfigFailed, wantMessage: `secret "mine" not found`,
		},
		"a missing Secret in a volume": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "ContainerCreating", "")}
			}),
			missing:    []Missing{{Reason: v1alpha1.ReasonSecretMissing, Name: "internal-cart-acl"}},
			wantReason: v1alpha1.ReasonSecretMissing, wantMessage: "Secret internal-cart-acl does not exist",
		},
		"a volume that cannot be attached": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "ContainerCreating", "")}
			}),
			trouble:    []Trouble{{Reason: "FailedAttachVolume", Message: "Multi-Attach error"}},
			wantReason: v1alpha1.ReasonMountFailed, wantMessage: "Multi-Attach error",
		},
		"a crash loop": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				status := waiting("server", "CrashLoopBackOff", "back-off 5m0s")
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
					ExitCode: 1, Reason: "Error", Message: strings.Repeat("x", 5000) + " Bad directive\n",
				}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			}),
			wantReason: v1alpha1.ReasonCrashLooping, wantMessage: "Bad directive",
		},
		"a configuration that the server refuses": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				status := waiting("server", "CrashLoopBackOff", "back-off 5m0s")
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: refusedText}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			}),
			wantReason: v1alpha1.ReasonConfigRefused, wantMessage: "the server refuses its configuration: Reading the configuration file, at line 3 >>> 'maxmemory-policy nonsense' one of them",
		},
		"the same, started once more": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				status := corev1.ContainerStatus{Name: "server", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: refusedText}
				p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
			}),
			wantReason: v1alpha1.ReasonConfigRefused, wantMessage: "nonsense",
		},
		"a container that cannot be started": {
			pod: podWith(func(p *corev1.Pod) {
				status := waiting("agent", "RunContainerError", "an error with a number that changes")
				status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: "not a directory"}
				p.Status.InitContainerStatuses = []corev1.ContainerStatus{status}
			}),
			wantReason: v1alpha1.ReasonContainerConfigFailed, wantMessage: "not a directory",
		},
		"on its way out": {
			pod: podWith(func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{Time: start}
				p.Status.Conditions = []corev1.PodCondition{ready}
			}),
			wantReason: v1alpha1.ReasonPodTerminating,
		},
		"running and not ready": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [server]"}}
			}),
			wantReason: v1alpha1.ReasonContainersNotReady, wantMessage: "unready status",
		},
		"running, not ready, and the agent says why": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			}),
			word:       "Waiting: cart-1 has data that this node lacks",
			wantReason: v1alpha1.ReasonContainersNotReady, wantMessage: "cart-1 has data",
		},
		"loading": {
			pod: podWith(func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodRunning
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "server", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			}),
			server:     topology.Reach{Class: topology.ReachLoading},
			wantReason: v1alpha1.ReasonLoading,
		},
		"a login that is refused": {
			pod:        podWith(func(p *corev1.Pod) { p.Status.Conditions = []corev1.PodCondition{ready} }),
			server:     topology.Reach{Class: topology.ReachAuth, Text: "WRONGPASS"},
			wantReason: v1alpha1.ReasonAuthFailed, wantMessage: "WRONGPASS",
		},
		"a pod that cannot be made": {
			trouble:    []Trouble{{Reason: "FailedCreate", Message: "violates PodSecurity"}},
			wantReason: v1alpha1.ReasonPodMissing, wantMessage: "violates PodSecurity",
		},
		"nothing yet": {wantReason: v1alpha1.ReasonStarting},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observed{Now: start.Add(time.Minute), Node: ofValkey(), Missing: tc.missing, Trouble: tc.trouble, Word: tc.word, Server: Server{Reach: tc.server}}
			if tc.pod != nil {
				o.Objects.Pods = []*corev1.Pod{tc.pod}
			}
			isReady, reason, message := readiness(o, Plan{}, nil)
			if isReady || reason != tc.wantReason || !strings.Contains(message, tc.wantMessage) {
				t.Errorf("%v %s: %s; want %s: …%s…", isReady, reason, message, tc.wantReason, tc.wantMessage)
			}
			if message == "" || len(message) > 600 {
				t.Errorf("message of %d bytes", len(message))
			}
		})
	}
}

func TestEventsAreAskedForOnlyWhereNothingElseTells(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{UID: "set", CreationTimestamp: metav1.NewTime(start)}}
	stuck := podWith(func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "ContainerCreating", "")}
	})
	badImage := podWith(func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{waiting("server", "ImagePullBackOff", "")}
	})
	running := podWith(func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	for name, tc := range map[string]struct {
		pod   *corev1.Pod
		after time.Duration
		want  string
	}{
		"no pod yet":            {nil, time.Second, ""},
		"no pod for long":       {nil, time.Minute, "set"},
		"being made":            {stuck, 10 * time.Second, ""},
		"stuck":                 {stuck, time.Minute, "pod"},
		"its status says why":   {badImage, time.Minute, ""},
		"a pod that is running": {running, time.Minute, ""},
	} {
		o := Observed{Now: start.Add(tc.after), Node: ofValkey()}
		o.Objects.StatefulSet = set
		if tc.pod != nil {
			o.Objects.Pods = []*corev1.Pod{tc.pod}
		}
		if got := TroubleOf(o); string(got) != tc.want {
			t.Errorf("%s: events of %q, want %q", name, got, tc.want)
		}
	}
}

func TestTheCurrentPodIsTheNewestThatStays(t *testing.T) {
	going := podWith(func(p *corev1.Pod) {
		p.Name, p.DeletionTimestamp = "going", &metav1.Time{Time: start}
		p.CreationTimestamp = metav1.NewTime(start.Add(time.Hour))
	})
	old := podWith(func(p *corev1.Pod) { p.Name = "old" })
	fresh := podWith(func(p *corev1.Pod) { p.Name, p.CreationTimestamp = "fresh", metav1.NewTime(start.Add(time.Minute)) })
	o := Observed{Objects: Objects{Pods: []*corev1.Pod{going, old, fresh}}}
	if got := o.Pod().Name; got != "fresh" {
		t.Errorf("current pod %s", got)
	}
}

func TestClaimConditions(t *testing.T) {
	claim := func(phase corev1.PersistentVolumeClaimPhase, has, asks string, conditions ...corev1.PersistentVolumeClaimCondition) *corev1.PersistentVolumeClaim {
		c := &corev1.PersistentVolumeClaim{}
		c.Status.Phase, c.Status.Conditions = phase, conditions
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: quantity(has)}
		c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: quantity(asks)}
		return c
	}
	for name, tc := range map[string]struct {
		claim               *corev1.PersistentVolumeClaim
		outcomes            []Outcome
		wantReady, wantSize string
	}{
		"bound":           {claim(corev1.ClaimBound, "1Gi", "1Gi"), nil, "AsExpected", "AsExpected"},
		"pending":         {claim(corev1.ClaimPending, "0", "1Gi"), nil, "ClaimPending", "ClaimPending"},
		"lost":            {claim(corev1.ClaimLost, "1Gi", "1Gi"), nil, "ClaimLost", "ClaimPending"},
		"growing":         {claim(corev1.ClaimBound, "512Mi", "1Gi"), nil, "AsExpected", "Resizing"},
		"larger":          {claim(corev1.ClaimBound, "5Gi", "5Gi"), nil, "AsExpected", "LargerThanAsked"},
		"cannot grow":     {claim(corev1.ClaimBound, "512Mi", "1Gi", corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimControllerResizeError, Status: corev1.ConditionTrue, Message: "no space"}), nil, "AsExpected", "ResizeFailed"},
		"may not grow":    {claim(corev1.ClaimBound, "512Mi", "512Mi"), []Outcome{{Action: Apply{Kind: KindClaim}, Err: errRefused}}, "AsExpected", "ResizeFailed"},
		"may not be made": {nil, []Outcome{{Action: Apply{Kind: KindClaim, New: true}, Err: errRefused}}, "ApplyFailed", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observed{Now: start, Node: ofValkey()}
			o.Objects.Claim = tc.claim
			status := Status(o, Plan{}, tc.outcomes)
			got := map[string]string{}
			for _, condition := range status.Conditions {
				got[condition.Type] = condition.Reason
			}
			if got[v1alpha1.ConditionPersistentVolumeClaimReady] != tc.wantReady || got[v1alpha1.ConditionPersistentVolumeClaimSizeReady] != tc.wantSize {
				t.Errorf("conditions %v, want %s and %s", got, tc.wantReady, tc.wantSize)
			}
		})
	}
}

var errRefused = errors.New("refused")

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

const refusedText = `time=2026-01-01T00:00:00Z level=INFO msg=decision action=StartPrimary

*** FATAL CONFIG FILE ERROR (Version 8.1.1) ***
Reading the configuration file, at line 3
>>> 'maxmemory-policy nonsense'
one of them
time=2026-01-01T00:00:01Z level=INFO msg="the server has ended" exitCode=1
`
