// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// troubleAfter is how long a pod may be missing or without running containers before the cluster's events are asked for the cause.
const troubleAfter = 15 * time.Second

// TroubleOf says whose warning events tell why there is no running pod: the workload's while no pod can be made, the pod's while its volumes
// cannot be mounted. The zero value: nobody's, either because all is well or because the pod's own status tells.
func TroubleOf(o Observed) types.UID {
	pod := o.Pod()
	switch {
	case o.Terminating:
		return ""
	case pod == nil:
		if workload := o.workload(); workload != nil && o.Now.Sub(workload.GetCreationTimestamp().Time) > troubleAfter {
			return workload.GetUID()
		}
	case isStuckCreating(pod) && o.Now.Sub(pod.CreationTimestamp.Time) > troubleAfter:
		return pod.UID
	}
	return ""
}

// isStuckCreating tells whether a scheduled pod waits with no container started and none that says why.
func isStuckCreating(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return false
	}
	if reason, _ := containerTrouble(pod); reason != "" {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(status corev1.ContainerStatus) bool {
		return status.State.Running != nil || status.State.Terminated != nil
	})
}

// readiness says whether the node is ready, and else why not, as near to the cause as is known.
func readiness(o Observed, plan Plan, outcomes []Outcome) (isReady bool, reason, message string) {
	if reason, message := obstacle(plan, outcomes); reason != "" {
		return false, reason, message
	}
	pod := o.Pod()
	if IsReady(pod) {
		return serverReadiness(o.Server)
	}
	if pod == nil {
		return withoutPod(o)
	}
	for _, outcome := range outcomes {
		if replace, ok := outcome.Action.(ReplacePod); ok && outcome.Err == nil {
			return false, v1alpha1.ReasonPodReplacing, fmt.Sprintf("pod %s is replaced: %s", replace.Name, replace.Why)
		}
	}
	reason, message = podTrouble(o, pod)
	return false, reason, message
}

// obstacle is what keeps the pod from being made as the spec asks.
func obstacle(plan Plan, outcomes []Outcome) (reason, message string) {
	for _, blocked := range plan.Blocked {
		return blocked.Reason, blocked.Message
	}
	for _, outcome := range outcomes {
		if apply, ok := outcome.Action.(Apply); ok && outcome.Err != nil && apply.New {
			return v1alpha1.ReasonApplyFailed, outcome.Err.Error()
		}
	}
	return "", ""
}

func serverReadiness(server Server) (isReady bool, reason, message string) {
	switch server.Reach.Class {
	case topology.ReachOK:
		return true, v1alpha1.ReasonAsExpected, "the pod is ready and the server answers"
	case topology.ReachLoading:
		return false, v1alpha1.ReasonLoading, "the server reads its dataset"
	case topology.ReachAuth, topology.ReachPermission:
		return false, v1alpha1.ReasonAuthFailed, "the server refuses the controller: " + server.Reach.Text
	case topology.ReachFull:
		return false, v1alpha1.ReasonTooManyClients, topology.FullText("the server")
	default:
		return false, v1alpha1.ReasonServerUnreachable, "the pod is ready, but the server does not answer the controller: " + server.Reach.Text
	}
}

func withoutPod(o Observed) (isReady bool, reason, message string) {
	switch {
	case len(o.Trouble) > 0:
		return false, v1alpha1.ReasonPodMissing, o.Trouble[0].Message
	case o.workload() == nil:
		return false, v1alpha1.ReasonStarting, "the workload is being made"
	default:
		return false, v1alpha1.ReasonStarting, "the pod is being made"
	}
}

// podTrouble says why a pod is not ready.
func podTrouble(o Observed, pod *corev1.Pod) (reason, message string) {
	if pod.DeletionTimestamp != nil {
		return v1alpha1.ReasonPodTerminating, fmt.Sprintf("pod %s is being deleted", pod.Name)
	}
	if reason, message := unschedulable(pod); reason != "" {
		return reason, message
	}
	if reason, message := containerTrouble(pod); reason != "" {
		return reason, message
	}
	if isStuckCreating(pod) {
		for _, missing := range o.Missing {
			return missing.Reason, missingMessage(missing)
		}
		if len(o.Trouble) > 0 {
			return v1alpha1.ReasonMountFailed, o.Trouble[0].Message
		}
		return v1alpha1.ReasonStarting, fmt.Sprintf("pod %s is being made", pod.Name)
	}
	switch o.Server.Reach.Class {
	case topology.ReachLoading:
		return v1alpha1.ReasonLoading, "the server reads its dataset"
	case topology.ReachAuth, topology.ReachPermission:
		return v1alpha1.ReasonAuthFailed, "the server refuses the controller: " + o.Server.Reach.Text
	}
	if o.Word != "" {
		return v1alpha1.ReasonContainersNotReady, "the agent says: " + o.Word
	}
	return v1alpha1.ReasonContainersNotReady, unready(pod)
}

func missingMessage(missing Missing) string {
	kind := "Secret"
	if missing.Reason == v1alpha1.ReasonConfigMapMissing {
		kind = "ConfigMap"
	}
	return fmt.Sprintf("%s %s does not exist", kind, missing.Name)
}

func unschedulable(pod *corev1.Pod) (reason, message string) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return v1alpha1.ReasonUnschedulable, condition.Message
		}
	}
	return "", ""
}

// containerTrouble is why a container does not start or keeps ending. The first one counts: the others may wait for it.
func containerTrouble(pod *corev1.Pod) (reason, message string) {
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if reason, message := waitingTrouble(status); reason != "" {
			return reason, message
		}
	}
	return "", ""
}

func waitingTrouble(status corev1.ContainerStatus) (reason, message string) {
	if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
		return endReason(ended), endMessage(status.Name, ended)
	}
	if ended := status.LastTerminationState.Terminated; isRefusedAgain(status) {
		return endReason(ended), endMessage(status.Name, ended)
	}
	waiting := status.State.Waiting
	if waiting == nil {
		return "", ""
	}
	switch waiting.Reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return v1alpha1.ReasonImagePullFailed, fmt.Sprintf("container %s: image %s cannot be pulled: %s", status.Name, status.Image, waiting.Reason)
	case "CreateContainerConfigError", "CreateContainerError":
		return v1alpha1.ReasonContainerConfigFailed, fmt.Sprintf("container %s: %s", status.Name, waiting.Message)
	case "CrashLoopBackOff", "RunContainerError":
		if ended := status.LastTerminationState.Terminated; ended != nil {
			return endReason(ended), endMessage(status.Name, ended)
		}
		return v1alpha1.ReasonCrashLooping, fmt.Sprintf("container %s does not run: %s", status.Name, waiting.Message)
	}
	return "", ""
}

// isRefusedAgain tells whether a container that ended because of its configuration has just been started once more.
func isRefusedAgain(status corev1.ContainerStatus) bool {
	ended := status.LastTerminationState.Terminated
	return status.State.Running != nil && !status.Ready && ended != nil && endReason(ended) == v1alpha1.ReasonConfigRefused
}

// endReason tells a container that could not even be started, and a server that refuses its configuration, from one that ended.
func endReason(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason == "StartError" || ended.Reason == "ContainerCannotRun":
		return v1alpha1.ReasonContainerConfigFailed
	case ended.ExitCode != 0 && refusedConfig(ended.Message) != "":
		return v1alpha1.ReasonConfigRefused
	}
	return v1alpha1.ReasonCrashLooping
}

// fatalConfig is how a server begins to say what it does not like in its configuration.
const fatalConfig = "FATAL CONFIG FILE ERROR"

// refusedConfig is what a server said about a configuration that it does not start with; empty where it said nothing like that.
func refusedConfig(log string) string {
	at := strings.LastIndex(log, fatalConfig)
	if at < 0 {
		return ""
	}
	var words []string
	for line := range strings.Lines(log[at:]) {
		line = strings.TrimSpace(line)
		switch {
		case len(words) == 0 && strings.HasPrefix(line, fatalConfig), line == "":
		case strings.HasPrefix(line, "time="): // the agent's own log
			return strings.Join(words, " ")
		default:
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// endMessage is the container's own last words: the end of its log, where it wrote no message.
func endMessage(container string, ended *corev1.ContainerStateTerminated) string {
	message := fmt.Sprintf("container %s ended with code %d (%s)", container, ended.ExitCode, ended.Reason)
	words := strings.TrimSpace(ended.Message)
	if words == "" {
		return message
	}
	if refused := refusedConfig(words); refused != "" {
		return "the server refuses its configuration: " + truncated(refused)
	}
	const most = 400
	if len(words) > most {
		words = "…" + strings.ToValidUTF8(words[len(words)-most:], "")
	}
	return message + ": " + words
}

// truncated keeps the beginning.
func truncated(text string) string {
	const most = 400
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

func unready(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.ContainersReady && condition.Status == corev1.ConditionFalse && condition.Message != "" {
			return condition.Message
		}
	}
	return fmt.Sprintf("pod %s is not ready", pod.Name)
}
