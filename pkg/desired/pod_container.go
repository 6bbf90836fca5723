// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Main is the container that runs the agent, which runs the server or the Sentinel.
type Main struct {
	// Name is naming.ContainerServer or naming.ContainerSentinel.
	Name string
	// Image is the Valkey image.
	Image string
	// Role is the agent's first argument: "node" or "sentinel".
	Role string
	// Port is where the server or Sentinel listens, PortName what the port is called.
	Port     int32
	PortName string
	// Env is added to POD_NAME, POD_NAMESPACE and POD_IP.
	Env []*corev1ac.EnvVarApplyConfiguration
	// Mounts are added to those of the agent's binary and the runtime directory.
	Mounts []*corev1ac.VolumeMountApplyConfiguration
	// Resources are the user's.
	Resources corev1.ResourceRequirements
}

// Exporter is the container of the Prometheus exporter.
type Exporter struct {
	v1alpha1.ExporterSpec
	// Env says what the exporter scrapes and as whom.
	Env []*corev1ac.EnvVarApplyConfiguration
	// Mounts are what it reads.
	Mounts []*corev1ac.VolumeMountApplyConfiguration
}

func (p Pod) containers() []*corev1ac.ContainerApplyConfiguration {
	containers := []*corev1ac.ContainerApplyConfiguration{mainContainer(p.Main)}
	if p.Exporter.Enabled {
		containers = append(containers, exporterContainer(p.Exporter))
	}
	return containers
}

func mainContainer(main Main) *corev1ac.ContainerApplyConfiguration {
	container := corev1ac.Container().
		WithName(main.Name).
		WithImage(main.Image).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand(naming.AgentBinary).
		WithArgs(main.Role).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithEnv(
			fieldEnv(naming.EnvPodName, "metadata.name"),
			fieldEnv(naming.EnvPodNamespace, "metadata.namespace"),
			fieldEnv(naming.EnvPodIP, "status.podIP")).
		WithEnv(main.Env...).
		WithPorts(
			tcpPort(main.PortName, main.Port),
			tcpPort(naming.PortNameAgent, naming.PortAgent)).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath(naming.AgentDir).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(volumeRun).WithMountPath(naming.RunDir)).
		WithVolumeMounts(main.Mounts...).
		WithSecurityContext(restrictedContainer())
	withResources(container, main.Resources)
	return withProbes(container)
}

// withProbes asks the agent over HTTP, so that no process is spawned for a probe. A pod may rightly be unready for hours, while it loads
// or receives a copy: the startup probe gives up only after a day, and liveness says nothing about the dataset.
func withProbes(container *corev1ac.ContainerApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
	const day = 24 * 60 * 60
	return container.
		WithStartupProbe(agentProbe("/readyz").WithPeriodSeconds(1).WithFailureThreshold(day)).
		WithReadinessProbe(agentProbe("/readyz").WithPeriodSeconds(3).WithFailureThreshold(2)).
		WithLivenessProbe(agentProbe("/livez").WithPeriodSeconds(10).WithFailureThreshold(6))
}

func agentProbe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().
		WithHTTPGet(corev1ac.HTTPGetAction().
			WithPath(path).
			WithPort(intstr.FromInt32(naming.PortAgent)).
			WithScheme(corev1.URISchemeHTTP)).
		WithTimeoutSeconds(5)
}

// installDir is where the agent's own image has the volume that the binary is copied to. It is another place than in the other containers:
// there is the binary itself in that image.
const installDir = "/install"

// agentContainer copies the agent's binary into the pod. It is an init container, so that any Valkey image works, one without a shell too.
func agentContainer(image string) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(naming.ContainerAgent).
		WithImage(image).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs("install", installDir).
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithVolumeMounts(corev1ac.VolumeMount().WithName(volumeAgent).WithMountPath(installDir)).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi")}).
			WithLimits(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")})).
		WithSecurityContext(restrictedContainer())
}

func exporterContainer(exporter Exporter) *corev1ac.ContainerApplyConfiguration {
	image := exporter.Image
	if image == "" {
		image = v1alpha1.DefaultExporterImage
	}
	securityContext := restrictedContainer()
	if exporter.SecurityContext != nil {
		overlay(securityContext, exporter.SecurityContext)
	}
	container := corev1ac.Container().
		WithName(naming.ContainerExporter).
		WithImage(image).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithArgs(exporter.Args...).
		WithEnv(exporter.Env...).
		WithPorts(tcpPort(naming.PortNameExporter, naming.PortExporter)).
		WithVolumeMounts(exporter.Mounts...).
		WithSecurityContext(securityContext)
	withResources(container, exporter.Resources)
	return container
}

// restrictedContainer is what the "restricted" Pod Security Standard asks of a container, and a read-only root besides.
func restrictedContainer() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// restrictedPod is what the "restricted" Pod Security Standard asks of a pod. The sysctl is one of the safe ones, and lets the agent's
// resolver listen on port 53 without a capability.
func restrictedPod() *corev1ac.PodSecurityContextApplyConfiguration {
	return corev1ac.PodSecurityContext().
		WithRunAsNonRoot(true).
		WithRunAsUser(serverID).
		WithRunAsGroup(serverID).
		WithFSGroup(serverID).
		WithFSGroupChangePolicy(corev1.FSGroupChangeOnRootMismatch).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)).
		WithSysctls(corev1ac.Sysctl().WithName("net.ipv4.ip_unprivileged_port_start").WithValue("0"))
}

// Env is a variable with a plain value.
func Env(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

// SecretEnv is a variable whose value is in a Secret. A missing Secret or key leaves the variable out.
func SecretEnv(name, secret, key string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().
		WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(secret).WithKey(key).WithOptional(true)))
}

// fieldEnv is a variable with a field of the pod. The API version is what the server would fill in: inside an atomic reference a default
// comes back as ours, and a comparison with what we asked for would never settle.
func fieldEnv(name, path string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().
		WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath(path)))
}

// tcpPort names the protocol because it is part of the key of the list.
func tcpPort(name string, port int32) *corev1ac.ContainerPortApplyConfiguration {
	return corev1ac.ContainerPort().WithName(name).WithContainerPort(port).WithProtocol(corev1.ProtocolTCP)
}

func withResources(container *corev1ac.ContainerApplyConfiguration, resources corev1.ResourceRequirements) {
	if len(resources.Limits)+len(resources.Requests)+len(resources.Claims) == 0 {
		return
	}
	applied := corev1ac.ResourceRequirements()
	overlay(applied, resources)
	container.WithResources(applied)
}
