// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strconv"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// defaultNodeGracePeriod, in seconds, is long enough for a coordinated hand-over (at most half a minute) and a snapshot behind it.
const defaultNodeGracePeriod = 60

// Names of the volumes of a data pod.
const (
	volumeData      = "data"
	volumeConfig    = "config"
	volumeACL       = "acl"
	volumePasswords = "passwords"
)

// nodePod is what the pod of a node is made of.
func nodePod(in NodeInput) Pod {
	node := in.Node
	spec := &node.Spec
	pod := Pod{
		Labels:             naming.NodeLabels(spec.Valkey, node.Name),
		UserLabels:         spec.PodLabels,
		Annotations:        map[string]string{naming.AnnotationRevision: NodeRevision(*spec)},
		UserAnnotations:    spec.PodAnnotations,
		AgentImage:         in.AgentImage,
		Containers:         spec.Containers,
		SecurityContext:    spec.PodSecurityContext,
		ImagePullSecrets:   spec.ImagePullSecrets,
		Scheduling:         spec.Scheduling,
		GracePeriodSeconds: defaultNodeGracePeriod,
		Main: Main{
			Name:      naming.ContainerServer,
			Image:     serverImage(spec.Image),
			Role:      "node",
			Port:      naming.PortValkey,
			PortName:  naming.PortNameValkey,
			Env:       []*corev1ac.EnvVarApplyConfiguration{Env(naming.EnvNode, node.Name)},
			Resources: spec.Resources,
		},
	}
	if spec.Valkey != "" {
		pod.SetSelector = naming.ValkeySelector(spec.Valkey)
	}
	if spec.TerminationGracePeriodSeconds != nil {
		pod.GracePeriodSeconds = *spec.TerminationGracePeriodSeconds
		// Unless it is told, the agent takes 20 s, which fits into the usual grace period and not into every one.
		pod.Main.Env = append(pod.Main.Env, Env(naming.EnvGracePeriod, strconv.FormatInt(pod.GracePeriodSeconds, 10)))
	}
	if spec.Exporter.Enabled {
		pod.Exporter = nodeExporter(spec)
	}
	pod.Volumes, pod.Main.Mounts = nodeVolumes(node)
	return pod
}

// nodeVolumes are the data directory, the boot settings and configuration and, where the node has them, the ACL file and the passwords.
func nodeVolumes(node *v1alpha1.ValkeyNode) (volumes []*corev1ac.VolumeApplyConfiguration, mounts []*corev1ac.VolumeMountApplyConfiguration) {
	add := func(volume *corev1ac.VolumeApplyConfiguration, path string, readOnly bool) {
		mount := corev1ac.VolumeMount().WithName(*volume.Name).WithMountPath(path)
		if readOnly {
			mount.WithReadOnly(true)
		}
		volumes, mounts = append(volumes, volume), append(mounts, mount)
	}
	data := corev1ac.Volume().WithName(volumeData)
	if node.Spec.Persistence != nil {
		data.WithPersistentVolumeClaim(corev1ac.PersistentVolumeClaimVolumeSource().WithClaimName(naming.NodeClaim(node.Name)))
	} else {
		data.WithEmptyDir(corev1ac.EmptyDirVolumeSource())
	}
	add(data, naming.DataDir, false)
	if node.Spec.TLS.IsOn() {
		add(certificateVolume(node.Spec.TLS.SecretName), naming.TLSDir, true)
	}
	add(ConfigMapVolume(volumeConfig, NodeConfigMapName(node)), naming.ConfigDir, true)
	if secret := node.Spec.UsersACLSecretName; secret != "" {
		add(SecretVolume(volumeACL, secret, naming.KeyACL), naming.ACLDir, true)
	}
	if secret := node.Spec.SystemPasswordsSecretName; secret != "" {
		add(passwordsVolume(secret), naming.PasswordsDir, true)
	}
	return volumes, mounts
}

// passwordsVolume holds only the passwords that the agent needs, one file per user. That of the Sentinels comes and goes with them, so it is
// a source of its own that may be missing.
func passwordsVolume(secret string) *corev1ac.VolumeApplyConfiguration {
	source := func(keys ...string) *corev1ac.SecretProjectionApplyConfiguration {
		projection := corev1ac.SecretProjection().WithName(secret)
		for _, key := range keys {
			projection.WithItems(corev1ac.KeyToPath().WithKey(key).WithPath(key))
		}
		return projection
	}
	return corev1ac.Volume().WithName(volumePasswords).WithProjected(corev1ac.ProjectedVolumeSource().
		WithDefaultMode(secretMode).
		WithSources(
			corev1ac.VolumeProjection().WithSecret(source(naming.UserAgent, naming.UserReplication)),
			corev1ac.VolumeProjection().WithSecret(source(naming.KeySentinelAgent).WithOptional(true))))
}

// nodeExporter scrapes the server over loopback, as the product's own user where the node has one.
func nodeExporter(spec *v1alpha1.ValkeyNodeSpec) Exporter {
	exporter := Exporter{ExporterSpec: spec.Exporter, Mounts: exporterMounts(spec.TLS)}
	exporter.Env = append(exporter.Env, exporterScheme(spec.TLS, naming.PortValkey, encryptedPort(spec.TLS))...)
	exporter.Env = append(exporter.Env,
		Env("REDIS_EXPORTER_WEB_LISTEN_ADDRESS", ":"+strconv.Itoa(naming.PortExporter)),
		// The exporter's user may not ask for the configuration: it holds the replication password.
		Env("REDIS_EXPORTER_CONFIG_COMMAND", "-"))
	if secret := spec.SystemPasswordsSecretName; secret != "" {
		exporter.Env = append(exporter.Env,
			Env("REDIS_USER", naming.UserExporter),
			SecretEnv("REDIS_PASSWORD", secret, naming.UserExporter))
	}
	return exporter
}

func serverImage(image string) string {
	if image == "" {
		return v1alpha1.DefaultImage
	}
	return image
}

// NodeConfigMapName is the ConfigMap that the node's pod mounts: the owning Valkey's, or one of its own.
func NodeConfigMapName(node *v1alpha1.ValkeyNode) string {
	if node.Spec.ServerConfigMapName != "" {
		return node.Spec.ServerConfigMapName
	}
	return naming.NodeConfigMap(node.Name)
}
