// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

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
