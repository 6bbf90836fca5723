// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// serverID is the user, group and fsGroup of everything in a data or Sentinel pod. It is what public Valkey images use, so that a volume
// they have written is readable.
const serverID = 999

// secretMode lets the pod's group read, and nobody write, what is mounted from Secrets and ConfigMaps.
const secretMode = 0o440

// annotationDefaultContainer tells kubectl which container "logs" and "exec" mean.
const annotationDefaultContainer = "kubectl.kubernetes.io/default-container"

// Names of the volumes in every pod.
const (
	volumeAgent = "agent"
	volumeRun   = "run"
)

// Pod is what a data or Sentinel pod is made of. The zero value of an optional field leaves it out.
type Pod struct {
	// Labels are the product's own; they win over UserLabels.
	Labels, UserLabels map[string]string
	// Annotations are the product's own; they win over UserAnnotations.
	Annotations, UserAnnotations map[string]string
	// AgentImage brings the agent's binary. A change of it alone must never restart a pod: see NodeRevision.
	AgentImage string
	// Main is the server or Sentinel container, which runs the agent.
	Main Main
	// Exporter is the Prometheus exporter beside it.
	Exporter Exporter
	// Volumes are added to those that every pod has (the agent's binary and the runtime directory).
	Volumes []*corev1ac.VolumeApplyConfiguration
	// Containers are the user's, merged by name over the ones above; unknown names are added.
	Containers []corev1.Container
	// SecurityContext is the user's, merged over the default one.
	SecurityContext *corev1.PodSecurityContext
	// ImagePullSecrets are the user's.
	ImagePullSecrets []corev1.LocalObjectReference
	// Scheduling is the user's.
	Scheduling v1alpha1.SchedulingSpec
	// SetSelector selects all pods of the set that spread from each other. Empty: the pod stands alone and does not spread.
	SetSelector map[string]string
	// GracePeriodSeconds is how long the agent may take to hand over and stop.
	GracePeriodSeconds int64
	// Hostname and Subdomain give the pod of a Deployment a stable host name; a StatefulSet sets its own.
	Hostname, Subdomain string
}

// PodTemplate is the pod's template. It passes the "restricted" Pod Security Standard unless the user's own fragments break it.
// It fails only where those fragments cannot be merged.
func PodTemplate(pod Pod) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	containers, err := mergedContainers(pod.containers(), pod.Containers)
	if err != nil {
		return nil, err
	}
	securityContext, err := mergedSecurityContext(pod.SecurityContext)
	if err != nil {
		return nil, err
	}
	spec := corev1ac.PodSpec().
		WithInitContainers(agentContainer(pod.AgentImage)).
		WithContainers(containers...).
		WithVolumes(podVolumes()...).
		WithVolumes(pod.Volumes...).
		WithSecurityContext(securityContext).
		WithTerminationGracePeriodSeconds(pod.GracePeriodSeconds).
		WithAutomountServiceAccountToken(false).
		// Each Service of the namespace would otherwise be half a dozen variables in every container.
		WithEnableServiceLinks(false)
	withLocalResolver(spec)
	for _, secret := range pod.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	if pod.Hostname != "" {
		spec.WithHostname(pod.Hostname).WithSubdomain(pod.Subdomain)
	}
	withScheduling(spec, pod.Scheduling, pod.SetSelector)
	annotations := naming.With(pod.Annotations, map[string]string{
		naming.AnnotationAgentImage: pod.AgentImage,
		annotationDefaultContainer:  pod.Main.Name,
	})
	return corev1ac.PodTemplateSpec().
		WithLabels(naming.With(pod.UserLabels, pod.Labels)).
		WithAnnotations(naming.With(pod.UserAnnotations, annotations)).
		WithSpec(spec), nil
}

// withLocalResolver points name resolution at the agent's stub resolver on loopback: Valkey and Sentinel resolve names in their main
// thread, and must not freeze with the cluster's DNS. Names are fully qualified, so no search list is needed.
func withLocalResolver(spec *corev1ac.PodSpecApplyConfiguration) {
	spec.WithDNSPolicy(corev1.DNSNone).
		WithDNSConfig(corev1ac.PodDNSConfig().
			WithNameservers("127.0.0.1").
			WithOptions(corev1ac.PodDNSConfigOption().WithName("ndots").WithValue("1")))
}

// podVolumes are the volumes that every pod has.
func podVolumes() []*corev1ac.VolumeApplyConfiguration {
	return []*corev1ac.VolumeApplyConfiguration{
		corev1ac.Volume().WithName(volumeAgent).WithEmptyDir(corev1ac.EmptyDirVolumeSource()),
		MemoryVolume(volumeRun, "4Mi"),
	}
}

// MemoryVolume is an emptyDir in memory: what is written there, secrets among it, never reaches a disk.
func MemoryVolume(name, size string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
		WithMedium(corev1.StorageMediumMemory).
		WithSizeLimit(resource.MustParse(size)))
}

// SecretVolume mounts a Secret: all its keys, or those that are named, each as a file of the same name.
func SecretVolume(name, secret string, keys ...string) *corev1ac.VolumeApplyConfiguration {
	source := corev1ac.SecretVolumeSource().WithSecretName(secret).WithDefaultMode(secretMode)
	for _, key := range keys {
		source.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
	}
	return corev1ac.Volume().WithName(name).WithSecret(source)
}

// ConfigMapVolume mounts all keys of a ConfigMap.
func ConfigMapVolume(name, configMap string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithConfigMap(corev1ac.ConfigMapVolumeSource().
		WithName(configMap).WithDefaultMode(secretMode))
}
