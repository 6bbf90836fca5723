// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// volumeSentinel is the name of the volume with a Sentinel's own file, and of the claim template where it is persistent.
const volumeSentinel = "sentinel"

// sentinelGracePeriod, in seconds, is ample: a Sentinel has nothing to hand over.
const sentinelGracePeriod = 15

// SentinelInput is what the workload of a ValkeySentinel is built from.
type SentinelInput struct {
	Set *v1alpha1.ValkeySentinel
	// AgentImage is a setting of the controller, not of the set.
	AgentImage string
	// Size is how many Sentinels run; on its way to spec.replicas one at a time.
	Size int
	// Revision is SentinelRevision's.
	Revision string
	// Live is the existing workload, nil for none. Its claim templates cannot be changed and are kept.
	Live *appsv1.StatefulSet
}

// SentinelStatefulSet runs the Sentinels. All start at once, and none is ever replaced by the StatefulSet itself (OnDelete): the controller
// replaces one when the others hold a quorum.
func SentinelStatefulSet(in SentinelInput) (*appsv1ac.StatefulSetApplyConfiguration, error) {
	template, err := PodTemplate(sentinelPod(in))
	if err != nil {
		return nil, err
	}
	set := in.Set
	spec := appsv1ac.StatefulSetSpec().
		WithReplicas(int32(in.Size)). //nolint:gosec // bounded by validation
		WithServiceName(naming.SentinelWorkload(set.Name)).
		WithPodManagementPolicy(appsv1.ParallelPodManagement).
		WithRevisionHistoryLimit(2).
		WithUpdateStrategy(appsv1ac.StatefulSetUpdateStrategy().WithType(appsv1.OnDeleteStatefulSetStrategyType)).
		WithPersistentVolumeClaimRetentionPolicy(claimRetention(set.Spec.Persistence)).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(naming.SentinelSelector(set.Name))).
		WithTemplate(template)
	switch {
	case in.Live != nil && len(in.Live.Spec.VolumeClaimTemplates) == 0:
	case in.Live != nil:
		ours, err := appsv1ac.ExtractStatefulSet(in.Live, naming.FieldManager)
		if err != nil {
			return nil, err
		}
		if ours.Spec != nil {
			spec.VolumeClaimTemplates = ours.Spec.VolumeClaimTemplates
		}
	case set.Spec.Persistence != nil:
		spec.WithVolumeClaimTemplates(sentinelClaim(set))
	}
	return appsv1ac.StatefulSet(naming.SentinelWorkload(set.Name), set.Namespace).
		WithLabels(naming.SentinelLabels(set.Name)).
		WithAnnotations(map[string]string{naming.AnnotationRevision: in.Revision}).
		WithOwnerReferences(OwnerReference(KindValkeySentinel, set)).
		WithSpec(spec), nil
}

// SentinelPersistenceDiffers tells whether the spec asks for another kind of storage than the live workload has. That cannot be changed.
func SentinelPersistenceDiffers(set *v1alpha1.ValkeySentinel, live *appsv1.StatefulSet) bool {
	return live != nil && (set.Spec.Persistence != nil) != (len(live.Spec.VolumeClaimTemplates) > 0)
}

func claimRetention(persistence *v1alpha1.SentinelPersistenceSpec) *appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicyApplyConfiguration {
	policy := appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	if persistence != nil && persistence.ReclaimPolicy == v1alpha1.ReclaimDelete {
		policy = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	}
	return appsv1ac.StatefulSetPersistentVolumeClaimRetentionPolicy().WithWhenDeleted(policy).WithWhenScaled(policy)
}

func sentinelClaim(set *v1alpha1.ValkeySentinel) *corev1ac.PersistentVolumeClaimApplyConfiguration {
	persistence := set.Spec.Persistence
	spec := corev1ac.PersistentVolumeClaimSpec().
		WithAccessModes(corev1.ReadWriteOnce).
		WithVolumeMode(corev1.PersistentVolumeFilesystem).
		WithResources(corev1ac.VolumeResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceStorage: persistence.Capacity}))
	if persistence.StorageClassName != nil {
		spec.WithStorageClassName(*persistence.StorageClassName)
	}
	claim := &corev1ac.PersistentVolumeClaimApplyConfiguration{}
	return claim.WithName(volumeSentinel).WithLabels(naming.SentinelLabels(set.Name)).WithSpec(spec)
}

// sentinelPod is what the pod of a Sentinel is made of.
func sentinelPod(in SentinelInput) Pod {
	set := in.Set
	spec := &set.Spec
	pod := Pod{
		Labels:             naming.SentinelLabels(set.Name),
		UserLabels:         spec.PodLabels,
		Annotations:        map[string]string{naming.AnnotationRevision: in.Revision},
		UserAnnotations:    spec.PodAnnotations,
		AgentImage:         in.AgentImage,
		Containers:         spec.Containers,
		SecurityContext:    spec.PodSecurityContext,
		ImagePullSecrets:   spec.ImagePullSecrets,
		Scheduling:         spec.Scheduling,
		SetSelector:        naming.SentinelSelector(set.Name),
		GracePeriodSeconds: sentinelGracePeriod,
		Main: Main{
			Name:      naming.ContainerSentinel,
			Image:     serverImage(spec.Image),
			Role:      "sentinel",
			Port:      naming.PortSentinel,
			PortName:  naming.PortNameSentinel,
			Resources: spec.Resources,
			Mounts: []*corev1ac.VolumeMountApplyConfiguration{
				corev1ac.VolumeMount().WithName(volumeSentinel).WithMountPath(naming.SentinelDir),
				corev1ac.VolumeMount().WithName(volumeConfig).WithMountPath(naming.ConfigDir).WithReadOnly(true),
			},
		},
		Volumes: []*corev1ac.VolumeApplyConfiguration{SecretVolume(volumeConfig, naming.SentinelBootSecret(set.Name))},
	}
	if spec.Networking.TLS.IsOnly() {
		pod.Annotations[naming.AnnotationEncrypted] = "true"
	}
	if tls := spec.Networking.TLS; tls.IsOn() {
		pod.Volumes = append(pod.Volumes, certificateVolume(tls.SecretName))
		pod.Main.Mounts = append(pod.Main.Mounts,
			corev1ac.VolumeMount().WithName(volumeTLS).WithMountPath(naming.TLSDir).WithReadOnly(true))
	}
	if !hasClaim(in) {
		pod.Volumes = append(pod.Volumes, corev1ac.Volume().WithName(volumeSentinel).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	}
	if spec.Exporter.Enabled {
		pod.Exporter = sentinelExporter(set)
	}
	return pod
}

// hasClaim tells whether the Sentinel's file is on a volume: as the live workload has it, since that cannot be changed.
func hasClaim(in SentinelInput) bool {
	if in.Live != nil {
		return len(in.Live.Spec.VolumeClaimTemplates) > 0
	}
	return in.Set.Spec.Persistence != nil
}

// sentinelExporter scrapes the Sentinel over loopback, as the product's own user.
func sentinelExporter(set *v1alpha1.ValkeySentinel) Exporter {
	tls := set.Spec.Networking.TLS
	encrypted := int32(naming.PortSentinel)
	if !tls.IsOnly() {
		encrypted = tls.PortBeside(naming.PortSentinelTLS, naming.PortSentinel)
	}
	env := exporterScheme(tls, naming.PortSentinel, encrypted)
	return Exporter{ExporterSpec: set.Spec.Exporter, Mounts: exporterMounts(tls), Env: append(env,
		Env("REDIS_EXPORTER_WEB_LISTEN_ADDRESS", ":"+strconv.Itoa(naming.PortExporter)),
		Env("REDIS_USER", naming.UserExporter),
		SecretEnv("REDIS_PASSWORD", naming.SentinelPasswordsSecret(set.Name), naming.UserExporter),
	)}
}
