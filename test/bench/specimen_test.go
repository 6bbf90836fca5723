// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

const namespace = "bench"

// since is when everything in a status happened.
var since = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// specimen is a Valkey as people write them. Everything the server would fill in from code is set, so that both sides store the same.
func specimen(name string) *v1alpha1.Valkey {
	one, quorum := intstr.FromInt32(1), int32(2)
	spread := v1alpha1.SpreadSpec{Pods: v1alpha1.PodSpread{Mode: v1alpha1.SpreadPreferred}}
	return &v1alpha1.Valkey{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Valkey"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace,
			Labels:      map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "team": "checkout"},
			Annotations: map[string]string{"example.com/contact": "checkout@example.com"},
		},
		Spec: v1alpha1.ValkeySpec{
			Replicas: 2, Image: "docker.io/valkey/valkey:8.1",
			Failover: v1alpha1.FailoverSpec{Mode: v1alpha1.FailoverModeSentinel, Sentinel: &v1alpha1.SentinelFailoverSpec{
				MonitorName: name, Quorum: &quorum, Config: map[string]string{"down-after-milliseconds": "5000", "failover-timeout": "60000"},
			}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
			},
			Scheduling: v1alpha1.SchedulingSpec{
				Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "valkey", Effect: corev1.TaintEffectNoSchedule}},
				Node:        v1alpha1.NodePlacement{Spread: spread}, Zone: v1alpha1.ZonePlacement{Spread: spread},
			},
			Exporter:     v1alpha1.ExporterSpec{Enabled: true, Image: v1alpha1.DefaultExporterImage},
			WorkloadType: v1alpha1.WorkloadTypeStatefulSet,
			Persistence:  &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("10Gi"), ReclaimPolicy: v1alpha1.ReclaimRetain, Mode: v1alpha1.PersistenceModeAOF},
			Users: []v1alpha1.UserSpec{{
				Name: "app", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: name + "-app", Keys: []string{"password"}},
				Commands: &v1alpha1.UserCommands{Allow: []string{"@read", "@write"}, Deny: []string{"@dangerous"}},
				Keys:     &v1alpha1.UserKeys{ReadWrite: []string{"app:*"}},
			}},
			Config:              map[string]string{"maxmemory-policy": "allkeys-lru", "timeout": "300", "tcp-keepalive": "60"},
			PodDisruptionBudget: v1alpha1.PodDisruptionBudgetSpec{Mode: v1alpha1.PodDisruptionBudgetManaged, MaxUnavailable: &one},
			RollingUpdate:       v1alpha1.RollingUpdateSpec{SyncTimeout: &metav1.Duration{Duration: v1alpha1.DefaultSyncTimeout}},
		},
	}
}

// observed is the status of a Valkey that is well, and was not always.
func observed(name string) v1alpha1.ValkeyStatus {
	status := v1alpha1.ValkeyStatus{
		State: v1alpha1.StateReady, Reason: "AllReady", Message: "The primary and 2 replicas are ready and in sync.",
		Primary: name + "-0", PrimaryAddress: fmt.Sprintf("%s-0.%s.svc.cluster.local:6379", name, namespace),
		Replicas: 3, ReadyReplicas: 3, SyncedReplicas: 2, Selector: "valkey.io/valkey=" + name,
		Monitoring:         &v1alpha1.MonitoringStatus{Sentinel: "sentinels", MonitorName: name, Registered: true, Quorum: 2, AvailableQuorum: 3},
		LastFailover:       &v1alpha1.FailoverRecord{From: name + "-1", To: name + "-0", Cause: v1alpha1.FailoverCauseSentinel, StartedAt: since, Duration: &metav1.Duration{Duration: 1500 * time.Millisecond}},
		ObservedGeneration: 1,
	}
	for i := range 3 {
		node := fmt.Sprintf("%s-%d", name, i)
		role := v1alpha1.RoleReplica
		if i == 0 {
			role = v1alpha1.RolePrimary
		}
		status.Members = append(status.Members, v1alpha1.MemberStatus{Node: node, Pod: node + "-0", Role: role, Synced: true, LinkUp: i > 0})
	}
	for _, condition := range []string{"Ready", "Progressing", "Degraded", "ConfigurationWarning", "PrimaryElected", "ReplicationHealthy", "Monitored", "SentinelQuorumHealthy"} {
		state := metav1.ConditionTrue
		if condition == "Progressing" || condition == "Degraded" || condition == "ConfigurationWarning" {
			state = metav1.ConditionFalse
		}
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: condition, Status: state, ObservedGeneration: 1, LastTransitionTime: since, Reason: "AsExpected", Message: "Everything is as it is wanted to be.",
		})
	}
	return status
}
