// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Event reasons are part of the API: they are listed in docs/status.md. Events mark transitions and completed disruptive
// actions, never a pass that changed nothing.

// Event reasons that several kinds have.
const (
	// EventForeignObject (Warning): an object with the name of one of ours belongs to somebody else and is left alone.
	EventForeignObject = "ForeignObject"
	// EventApplyFailed (Warning): the API refused an object of ours.
	EventApplyFailed = "ApplyFailed"
	// EventSecretMissing (Warning): a Secret or key that the spec names does not exist.
	EventSecretMissing = "SecretMissing"
	// EventReady (Normal): it serves.
	EventReady = "Ready"
	// EventNotReady (Warning): it stopped serving.
	EventNotReady = "NotReady"
	// EventDegraded (Warning): less is there than was asked for.
	EventDegraded = "Degraded"
	// EventRecovered (Normal): all that was asked for is there again.
	EventRecovered = "Recovered"
	// EventConfigurationWarning (Warning): something in the spec has no effect or is unwise.
	EventConfigurationWarning = "ConfigurationWarning"
)

// Event reasons of a Valkey.
const (
	// EventNodeCreated (Normal): a ValkeyNode was made.
	EventNodeCreated = "NodeCreated"
	// EventNodeRemoved (Normal): a ValkeyNode was removed because fewer replicas are asked for.
	EventNodeRemoved = "NodeRemoved"
	// EventPrimaryChanged (Normal): another node is primary; the message names both and the cause.
	EventPrimaryChanged = "PrimaryChanged"
	// EventPrimaryLost (Warning): no node is primary, or the primary does not answer.
	EventPrimaryLost = "PrimaryLost"
	// EventSeveralPrimaries (Warning): more than one node says that it is primary; clients are led to one of them.
	EventSeveralPrimaries = "SeveralPrimaries"
	// EventPromoted (Warning): the controller promoted a replica because the primary was lost; the message names the offsets.
	EventPromoted = "Promoted"
	// EventHandedOver (Normal): the primary was handed over for a planned change.
	EventHandedOver = "HandedOver"
	// EventHandOverFailed (Warning): a planned hand-over failed; the old primary goes on.
	EventHandOverFailed = "HandOverFailed"
	// EventReattached (Normal): a node was told to follow the primary again.
	EventReattached = "Reattached"
	// EventRollStarted (Normal): a node may replace its pod.
	EventRollStarted = "RollStarted"
	// EventRollHeld (Warning): pods wait to be replaced; the message says for what.
	EventRollHeld = "RollHeld"
	// EventRollFinished (Normal): every node runs what the spec asks for.
	EventRollFinished = "RollFinished"
	// EventReplicationUnhealthy (Warning): a replica does not follow the primary as it should.
	EventReplicationUnhealthy = "ReplicationUnhealthy"
	// EventOperationExpired (Warning): a claimed failover was not finished in time by whoever claimed it.
	EventOperationExpired = "OperationExpired"
	// EventPasswordsRecovered (Warning): the Secret with the system passwords was lost and has been made again.
	EventPasswordsRecovered = "PasswordsRecovered"
	// EventActionFailed (Warning): something the controller tried on a running server failed.
	EventActionFailed = "ActionFailed"
)

// Event reasons of a ValkeySentinel.
const (
	// EventMonitorRegistered (Normal): Sentinels have begun to monitor a Valkey.
	EventMonitorRegistered = "MonitorRegistered"
	// EventMonitorRemoved (Normal): Sentinels have stopped to monitor a Valkey; the message says why.
	EventMonitorRemoved = "MonitorRemoved"
	// EventMonitorCorrected (Warning): Sentinels monitored something else than the primary, and have been set right.
	EventMonitorCorrected = "MonitorCorrected"
	// EventMonitorConflict (Warning): a selected Valkey is left alone, because another ValkeySentinel or somebody else monitors it.
	EventMonitorConflict = "MonitorConflict"
	// EventSettingRefused (Warning): a Sentinel refused a setting; the message has its words.
	EventSettingRefused = "SettingRefused"
	// EventForgotten (Normal): a Sentinel was made to forget pods that were scaled away.
	EventForgotten = "Forgotten"
	// EventSentinelReplaced (Normal): an outdated Sentinel pod was deleted so that it is made again.
	EventSentinelReplaced = "SentinelReplaced"
	// EventScaled (Normal): the number of Sentinels was changed.
	EventScaled = "Scaled"
	// EventQuorumLost (Warning): a failover could not be agreed on or authorised any more.
	EventQuorumLost = "QuorumLost"
	// EventQuorumRestored (Normal): a failover could be agreed on and authorised again.
	EventQuorumRestored = "QuorumRestored"
)
