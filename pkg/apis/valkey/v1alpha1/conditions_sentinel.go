// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Reasons of a ValkeySentinel.
const (
	// ReasonNoMonitors means that no Valkey is selected.
	ReasonNoMonitors = "NoMonitors"
	// ReasonSentinelSilent means that a Sentinel does not answer.
	ReasonSentinelSilent = "SentinelSilent"
	// ReasonRegistering means that a monitor is not, or not as it should be, on every Sentinel yet.
	ReasonRegistering = "Registering"
	// ReasonWaitingForPrimary means that a selected Valkey has no primary yet that could be monitored.
	ReasonWaitingForPrimary = "WaitingForPrimary"
	// ReasonMonitorMisplaced means that a Sentinel monitors something else than the primary.
	ReasonMonitorMisplaced = "MonitorMisplaced"
	// ReasonForgetting means that the Sentinels are made to forget pods that were scaled away.
	ReasonForgetting = "Forgetting"
	// ReasonMonitoredByOther means that an older ValkeySentinel monitors a Valkey that is selected.
	ReasonMonitoredByOther = "MonitoredByOther"
	// ReasonForeignMonitor means that the Sentinels hold a monitor, or know a Sentinel, that nobody here asked for; it is left alone.
	ReasonForeignMonitor = "ForeignMonitor"
	// ReasonMonitorNameTaken means that two selected Valkeys have one monitor name; the first by name is monitored.
	ReasonMonitorNameTaken = "MonitorNameTaken"
	// ReasonQuorumUnwise means that the quorum is not a majority, or more than there are Sentinels.
	ReasonQuorumUnwise = "QuorumUnwise"
	// ReasonEvenSentinels means an even number of Sentinels, which bears no more losses than one less.
	ReasonEvenSentinels = "EvenSentinels"
	// ReasonSettingRefused means that a Sentinel refused a setting; the message has its words.
	ReasonSettingRefused = "SettingRefused"
	// ReasonPersistenceFixed means that persistence was added or removed, which has no effect on a set that exists.
	ReasonPersistenceFixed = "PersistenceFixed"
)
