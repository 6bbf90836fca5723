// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a ValkeyNode. Those of Ready are what the owning Valkey shows for a member that is not ready.
const (
	// ReasonPodMissing means that there is no pod; the message says what keeps it from being made.
	ReasonPodMissing = "PodMissing"
	// ReasonPodTerminating means that the old pod is still going.
	ReasonPodTerminating = "PodTerminating"
	// ReasonPodReplacing means that the pod was just deleted so that one of the authorised revision takes its place.
	ReasonPodReplacing = "PodReplacing"
	// ReasonUnschedulable means that the scheduler finds no place for the pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed means that an image of the pod cannot be pulled or has an invalid name.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonContainerConfigFailed means that a container cannot be made as the spec asks, such as with a missing Secret in its variables.
	ReasonContainerConfigFailed = "ContainerConfigFailed"
	// ReasonCrashLooping means that a container keeps ending; the message is its own.
	ReasonCrashLooping = "CrashLooping"
	// ReasonMountFailed means that a volume of the pod cannot be attached or mounted.
	ReasonMountFailed = "MountFailed"
	// ReasonConfigMapMissing means that a ConfigMap that the spec names does not exist.
	ReasonConfigMapMissing = "ConfigMapMissing"
	// ReasonContainersNotReady means that the pod runs and a container is not ready.
	ReasonContainersNotReady = "ContainersNotReady"
	// ReasonServerUnreachable means that the server does not answer the controller.
	ReasonServerUnreachable = "ServerUnreachable"
	// ReasonClaimPending means that the volume claim is not bound yet.
	ReasonClaimPending = "ClaimPending"
	// ReasonClaimLost means that the volume behind the claim is gone.
	ReasonClaimLost = "ClaimLost"
	// ReasonResizing means that the volume grows.
	ReasonResizing = "Resizing"
	// ReasonResizeFailed means that the volume cannot grow; the message says why.
	ReasonResizeFailed = "ResizeFailed"
	// ReasonLargerThanAsked means that a volume taken over from an earlier node is larger than asked for; volumes never shrink.
	ReasonLargerThanAsked = "LargerThanAsked"
	// ReasonConfigRefused means that the server refused a directive; the message has its words.
	ReasonConfigRefused = "ConfigRefused"
	// ReasonApplying means that a change is on its way to the running server, or into the file in its pod from which it would start again.
	ReasonApplying = "Applying"
	// ReasonAwaitingAuthorisation means that a changed pod template waits for the owning Valkey.
	ReasonAwaitingAuthorisation = "AwaitingAuthorisation"
)

// Event reasons of a ValkeyNode.
const (
	// EventPodReplaced (Normal): the pod was deleted so that one of the authorised revision takes its place.
	EventPodReplaced = "PodReplaced"
	// EventLiveConfigApplied (Normal): directives were changed on the running server.
	EventLiveConfigApplied = "LiveConfigApplied"
	// EventConfigRefused (Warning): the server refused a directive.
	EventConfigRefused = "ConfigRefused"
	// EventACLApplied (Normal): the running server has loaded the changed ACL file.
	EventACLApplied = "ACLApplied"
)
