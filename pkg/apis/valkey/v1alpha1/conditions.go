// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types and reasons are part of the API: they are listed in docs/status.md, and a test compares the list with this
// file. A condition that has not been reported yet is Unknown.

// Condition types that several kinds have.
const (
	// ConditionReady is True while the object serves: for a Valkey, while its primary is ready and accepts writes.
	ConditionReady = "Ready"
	// ConditionProgressing is True while a change is on its way.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while less is there than was asked for.
	ConditionDegraded = "Degraded"
	// ConditionConfigurationWarning is True while something in the spec is accepted and has no effect, or is unwise.
	ConditionConfigurationWarning = "ConfigurationWarning"
	// ConditionEncrypted is True while servers, or Sentinels, take and open connections by TLS alone, with the certificate that its Secret holds.
	// It is absent where nothing has or asks for TLS.
	ConditionEncrypted = "Encrypted"
)

// Condition types of a Valkey.
const (
	// ConditionPrimaryElected is True while exactly one node is primary and nobody who may say so disputes it.
	ConditionPrimaryElected = "PrimaryElected"
	// ConditionReplicationHealthy is True while every replica follows the primary with its link up and its copy complete.
	ConditionReplicationHealthy = "ReplicationHealthy"
	// ConditionMonitored is True while every Sentinel holds the monitor at the real primary. Only in mode Sentinel.
	ConditionMonitored = "Monitored"
	// ConditionSentinelQuorumHealthy is True while the Sentinels could agree on and authorise a failover. Only in mode Sentinel.
	ConditionSentinelQuorumHealthy = "SentinelQuorumHealthy"
)

// Condition types of a ValkeyNode.
const (
	// ConditionPersistentVolumeClaimReady is True while the node's claim is bound.
	ConditionPersistentVolumeClaimReady = "PersistentVolumeClaimReady"
	// ConditionPersistentVolumeClaimSizeReady is True while the volume has the size that is asked for.
	ConditionPersistentVolumeClaimSizeReady = "PersistentVolumeClaimSizeReady"
	// ConditionLiveConfigApplied is True while the running server reports the configuration that is asked for, and would start again with it.
	ConditionLiveConfigApplied = "LiveConfigApplied"
	// ConditionACLApplied is True while the running server has loaded the ACL file that is asked for.
	ConditionACLApplied = "ACLApplied"
	// ConditionWorkloadRollPending is True while a changed pod template waits to be authorised.
	ConditionWorkloadRollPending = "WorkloadRollPending"
)

// Condition types of a ValkeySentinel.
const (
	// ConditionQuorumHealthy is True while enough Sentinels are there to agree on and authorise failovers.
	ConditionQuorumHealthy = "QuorumHealthy"
	// ConditionMonitorConflict is True while a Valkey that is selected is monitored by an older ValkeySentinel.
	ConditionMonitorConflict = "MonitorConflict"
)

// Reasons that several conditions and kinds have. They are also values of status.reason.
const (
	// ReasonAsExpected means that everything is as asked for.
	ReasonAsExpected = "AsExpected"
	// ReasonNotYetObserved means that there has not been a look yet.
	ReasonNotYetObserved = "NotYetObserved"
	// ReasonStarting means that the first pods are not ready yet.
	ReasonStarting = "Starting"
	// ReasonForeignObject means that an object with the name of one of ours exists and belongs to somebody else; it is left alone.
	ReasonForeignObject = "ForeignObject"
	// ReasonApplyFailed means that the API refused an object of ours.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonSecretMissing means that a Secret, or a key in it, that the spec names does not exist.
	ReasonSecretMissing = "SecretMissing"
	// ReasonIgnoredConfiguration means that directives which the product owns are set in the spec, and ignored.
	ReasonIgnoredConfiguration = "IgnoredConfiguration"
	// ReasonPodsNotReady means that some pods are not ready.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonRolling means that pods are being replaced, one after the other.
	ReasonRolling = "Rolling"
	// ReasonScaling means that nodes are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonPlaintextServed means that plaintext is served beside TLS, as the spec asks; what servers and Sentinels open themselves is plaintext.
	ReasonPlaintextServed = "PlaintextServed"
	// ReasonPreparingTLS means that pods get the certificate, one after the other, and serve both meanwhile.
	ReasonPreparingTLS = "PreparingTLS"
	// ReasonSwitchingTLS means that everything is prepared and servers, or Sentinels, move between plaintext and TLS.
	ReasonSwitchingTLS = "SwitchingTLS"
	// ReasonWaitingForSentinels means that a Valkey moves between plaintext and TLS together with the ValkeySentinel that monitors it, which is
	// not prepared, or not asked to.
	ReasonWaitingForSentinels = "WaitingForSentinels"
	// ReasonWaitingForValkeys means that a ValkeySentinel moves between plaintext and TLS together with the Valkeys that it monitors, and not all
	// of them are prepared, or asked to.
	ReasonWaitingForValkeys = "WaitingForValkeys"
	// ReasonTLSMismatch means that a ValkeySentinel and a Valkey that it selects do not speak the same: one TLS, the other plaintext. It does not
	// begin to monitor it.
	ReasonTLSMismatch = "TLSMismatch"
	// ReasonCertificateUnusable means that the Secret for TLS holds what cannot be used; what runs goes on with what it has.
	ReasonCertificateUnusable = "CertificateUnusable"
	// ReasonCertificateNotServed means that a server or Sentinel still serves another certificate than its Secret holds.
	ReasonCertificateNotServed = "CertificateNotServed"
	// ReasonCertificateNotReady means that cert-manager, which the spec asks for the certificate, has not issued it, or says that it is no longer good;
	// the message has cert-manager's own words. What runs goes on with what it has.
	ReasonCertificateNotReady = "CertificateNotReady"
	// ReasonCertManagerMissing means that cert-manager cannot be asked for the certificate: the cluster has no kind Certificate, or the controller may
	// not use it.
	ReasonCertManagerMissing = "CertManagerMissing"
)

// Reasons of a Valkey.
const (
	// ReasonPrimaryServing means that one primary serves.
	ReasonPrimaryServing = "PrimaryServing"
	// ReasonBootstrapping means that there never was a primary and the first one is starting.
	ReasonBootstrapping = "Bootstrapping"
	// ReasonNoPrimary means that no reachable node is primary.
	ReasonNoPrimary = "NoPrimary"
	// ReasonPrimaryUnreachable means that the node that is primary does not answer.
	ReasonPrimaryUnreachable = "PrimaryUnreachable"
	// ReasonPrimaryNotReady means that the primary answers and its pod is not ready.
	ReasonPrimaryNotReady = "PrimaryNotReady"
	// ReasonPrimaryEmpty means that the primary is empty while other nodes hold data; nothing is made to follow it.
	ReasonPrimaryEmpty = "PrimaryEmpty"
	// ReasonSeveralPrimaries means that more than one node accepts writes.
	ReasonSeveralPrimaries = "SeveralPrimaries"
	// ReasonSentinelsDisagree means that the Sentinels do not name one primary.
	ReasonSentinelsDisagree = "SentinelsDisagree"
	// ReasonSentinelDiffers means that the Sentinels name another primary than the nodes do.
	ReasonSentinelDiffers = "SentinelDiffers"
	// ReasonFailoverInProgress means that a failover is in flight.
	ReasonFailoverInProgress = "FailoverInProgress"
	// ReasonPrimaryLost means that the primary is gone and a replica is about to be promoted.
	ReasonPrimaryLost = "PrimaryLost"
	// ReasonNoCandidate means that no node may take over: none is reachable, in sync and with data.
	ReasonNoCandidate = "NoCandidate"
	// ReasonPersonMustDecide means that mode None leaves it to a person to promote a node: see the subresource "failover".
	ReasonPersonMustDecide = "PersonMustDecide"
	// ReasonNoReplicas means that there are no replicas to speak of.
	ReasonNoReplicas = "NoReplicas"
	// ReasonReplicaNotSynced means that a replica's link is down or its copy is not complete.
	ReasonReplicaNotSynced = "ReplicaNotSynced"
	// ReasonWrongPrimary means that a replica follows something else than the primary.
	ReasonWrongPrimary = "WrongPrimary"
	// ReasonMemberUnreachable means that a node does not answer.
	ReasonMemberUnreachable = "MemberUnreachable"
	// ReasonAuthFailed means that the login, or a command, was refused.
	ReasonAuthFailed = "AuthFailed"
	// ReasonLoading means that a node reads its dataset from disk.
	ReasonLoading = "Loading"
	// ReasonSyncing means that a replica receives a full copy.
	ReasonSyncing = "Syncing"
	// ReasonLinkDown means that a replica's link to its primary is down.
	ReasonLinkDown = "LinkDown"
	// ReasonDiskWriteFailed means that a node cannot write to its volume.
	ReasonDiskWriteFailed = "DiskWriteFailed"
	// ReasonTooManyClients means that a server has as many clients as its maxclients allows and takes no more connections. It is there: nobody is
	// promoted in its place by the controller, and no pod is replaced for it.
	ReasonTooManyClients = "TooManyClients"
	// ReasonWritesRefused means that the primary refuses writes (NOREPLICAS): no replica acknowledges, and its agent has fenced it because nobody
	// confirms that it still is the primary, or the spec sets min-replicas-to-write.
	ReasonWritesRefused = "WritesRefused"
	// ReasonHeldNobodyToTakeOver means that a primary has to be replaced and no replica may take over.
	ReasonHeldNobodyToTakeOver = "HeldNobodyToTakeOver"
	// ReasonHeldUnhealthy means that pods are not replaced while the set is not whole.
	ReasonHeldUnhealthy = "HeldUnhealthy"
	// ReasonSyncTimeout means that a replaced node did not get in sync in time; the roll is paused.
	ReasonSyncTimeout = "SyncTimeout"
	// ReasonAwaitingApproval means that a person has to approve the replacement of the primary.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonUnwiseConfiguration means that the spec says something that is accepted and can cost data or service.
	ReasonUnwiseConfiguration = "UnwiseConfiguration"
	// ReasonInvalidUser means that a user of the spec cannot be written as an ACL rule; it is left as it was.
	ReasonInvalidUser = "InvalidUser"
	// ReasonOpenAccess means that clients need no login.
	ReasonOpenAccess = "OpenAccess"
	// ReasonRegistered means that every Sentinel holds the monitor at the real primary.
	ReasonRegistered = "Registered"
	// ReasonNotSelected means that no ValkeySentinel selects the Valkey.
	ReasonNotSelected = "NotSelected"
	// ReasonReplicasUnknown means that a Sentinel does not know all replicas that are in sync yet, and could not fail over to them: it asks the
	// primary every ten seconds.
	ReasonReplicasUnknown = "ReplicasUnknown"
	// ReasonNotRegistered means that not every Sentinel holds the monitor.
	ReasonNotRegistered = "NotRegistered"
	// ReasonSentinelsUnreachable means that no Sentinel answers.
	ReasonSentinelsUnreachable = "SentinelsUnreachable"
	// ReasonQuorumReached means that a failover could be agreed on and authorised.
	ReasonQuorumReached = "QuorumReached"
	// ReasonNoQuorum means that a failover could not be agreed on, or not be authorised.
	ReasonNoQuorum = "NoQuorum"
)

// Reasons of a ValkeySentinel.
const (
	// ReasonNoMonitors means that no Valkey is selected.
	ReasonNoMonitors = "NoMonitors"
	// ReasonSentinelSilent means that a Sentinel does not answer.
	ReasonSentinelSilent = "SentinelSilent"
	// ReasonSentinelTilt means that a Sentinel distrusts its clock, because it got no time to run or the clock was set, and holds no primary for
	// down until half a minute has gone by evenly (TILT in sentinel.c).
	ReasonSentinelTilt = "SentinelTilt"
	// ReasonRegistering means that a monitor is not, or not as it should be, on every Sentinel yet.
	ReasonRegistering = "Registering"
	// ReasonWaitingForPrimary means that a selected Valkey has no primary yet that could be monitored.
	ReasonWaitingForPrimary = "WaitingForPrimary"
	// ReasonWaitingForReplicas means that a new Valkey's replicas have not connected to their primary yet, without which its Sentinels could not
	// choose one.
	ReasonWaitingForReplicas = "WaitingForReplicas"
	// ReasonMonitorMisplaced means that a Sentinel monitors something else than the primary.
	ReasonMonitorMisplaced = "MonitorMisplaced"
	// ReasonForgetting means that the Sentinels are made to forget pods that were scaled away.
	ReasonForgetting = "Forgetting"
	// ReasonMonitoredByOther means that an older ValkeySentinel monitors a Valkey that is selected.
	ReasonMonitoredByOther = "MonitoredByOther"
	// ReasonForeignMonitor means that the Sentinels hold a monitor, or know a Sentinel, that nobody here asked for; it is left alone.
	ReasonForeignMonitor = "ForeignMonitor"
	// ReasonMonitorNameTaken means that two selected Valkeys have one monitor name; the older is monitored.
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
