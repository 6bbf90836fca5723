// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// volumeTLS is the Secret with the certificate.
const volumeTLS = "tls"

// Certificate is what a Secret for TLS holds.
type Certificate struct {
	// Serial number, in hexadecimal, and when it ends.
	Serial   string
	NotAfter time.Time
	// Reason and Message say why it cannot be used, or what cert-manager, who is to fill the Secret, says; empty where nothing is amiss.
	Reason, Message string
}

// String is for people.
func (c Certificate) String() string {
	text := "certificate " + c.Serial + ", valid until " + c.NotAfter.UTC().Format(time.RFC3339)
	if c.Message != "" {
		text += "; " + c.Message
	}
	return text
}

// IsUsable tells whether the Secret holds one that can be used, whatever cert-manager says of the next.
func (c Certificate) IsUsable() bool {
	return c.Serial != "" && c.Reason != v1alpha1.ReasonSecretMissing && c.Reason != v1alpha1.ReasonCertificateUnusable
}

// valkeyBootTLS and SentinelBootTLS are how servers and Sentinels are to listen; nil for plaintext alone.
func valkeyBootTLS(tls *v1alpha1.TLSSpec) *boot.TLS {
	return bootTLS(tls, tls.PortBeside(naming.PortValkeyTLS, naming.PortValkey))
}

func SentinelBootTLS(tls *v1alpha1.TLSSpec) *boot.TLS {
	return bootTLS(tls, tls.PortBeside(naming.PortSentinelTLS, naming.PortSentinel))
}

func bootTLS(tls *v1alpha1.TLSSpec, beside int32) *boot.TLS {
	if !tls.IsOn() {
		return nil
	}
	told := &boot.TLS{Plaintext: tls.AllowUnencrypted, ClientCertificates: tls.ClientCertificates.ValkeyWord()}
	if told.Plaintext {
		told.Port = int(beside)
	}
	return told
}

// Listening is how the server of a node with TLS listens and speaks, and what with, in the order in which a running one can be told.
func Listening(tls *v1alpha1.TLSSpec) valkeyconf.Config {
	told := valkeyBootTLS(tls)
	listening := valkeyconf.Listening{
		Port: naming.PortValkey, TLSPort: told.Port, Encrypted: !told.Plaintext, ClientCertificates: told.ClientCertificates,
	}
	return append(valkeyconf.CertificatesIn(naming.RunTLSDir).Config(), listening.Config()...)
}

// certificateVolume holds the certificate, its key and the authorities, and nothing else of the Secret.
func certificateVolume(secret string) *corev1ac.VolumeApplyConfiguration {
	return SecretVolume(volumeTLS, secret, naming.KeyCertificate, naming.KeyPrivateKey, naming.KeyCA)
}

// HasCertificate tells whether a pod mounts the Secret.
func HasCertificate(pod *corev1.Pod, secret string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.Name == volumeTLS && volume.Secret != nil && volume.Secret.SecretName == secret
	})
}

// CertificateOf is the Secret with a certificate that a template mounts; empty for none.
func CertificateOf(template corev1.PodTemplateSpec) string {
	for _, volume := range template.Spec.Volumes {
		if volume.Name == volumeTLS && volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// valkeyTLSPort is the port of Services for clients that speak TLS. It is there as long as there is TLS, so that clients who moved to it while
// plaintext was served too need not move again when that ends.
func valkeyTLSPort(tls *v1alpha1.TLSSpec) []*corev1ac.ServicePortApplyConfiguration {
	if !tls.IsOn() {
		return nil
	}
	return []*corev1ac.ServicePortApplyConfiguration{
		servicePort(naming.PortNameValkeyTLS, tls.PortBeside(naming.PortValkeyTLS, naming.PortValkey)).
			WithTargetPort(intstr.FromInt32(encryptedPort(tls))),
	}
}

// encryptedPort is where servers take TLS.
func encryptedPort(tls *v1alpha1.TLSSpec) int32 {
	if tls.IsOnly() {
		return naming.PortValkey
	}
	return tls.PortBeside(naming.PortValkeyTLS, naming.PortValkey)
}

// exporterScheme is the environment of an exporter that scrapes over loopback: by TLS where there is any. The name in the certificate is that of
// the pod, not of loopback, and what answers there is in the same pod.
func exporterScheme(tls *v1alpha1.TLSSpec, plaintext, encrypted int32) []*corev1ac.EnvVarApplyConfiguration {
	if !tls.IsOn() {
		return []*corev1ac.EnvVarApplyConfiguration{Env("REDIS_ADDR", "redis://127.0.0.1:"+strconv.Itoa(int(plaintext)))}
	}
	return []*corev1ac.EnvVarApplyConfiguration{
		Env("REDIS_ADDR", "rediss://127.0.0.1:"+strconv.Itoa(int(encrypted))),
		Env("REDIS_EXPORTER_SKIP_TLS_VERIFICATION", "true"),
		Env("REDIS_EXPORTER_TLS_CLIENT_CERT_FILE", naming.TLSDir+"/"+naming.KeyCertificate),
		Env("REDIS_EXPORTER_TLS_CLIENT_KEY_FILE", naming.TLSDir+"/"+naming.KeyPrivateKey),
	}
}

// exporterMounts are what the exporter reads.
func exporterMounts(tls *v1alpha1.TLSSpec) []*corev1ac.VolumeMountApplyConfiguration {
	if !tls.IsOn() {
		return nil
	}
	return []*corev1ac.VolumeMountApplyConfiguration{
		corev1ac.VolumeMount().WithName(volumeTLS).WithMountPath(naming.TLSDir).WithReadOnly(true),
	}
}

// revisionTLS is what of TLS a pod must be restarted for: where the certificate is, and what an exporter beside it was told. The rest is changed
// under a running server.
func revisionTLS(tls *v1alpha1.TLSSpec, exporter v1alpha1.ExporterSpec) *v1alpha1.TLSSpec {
	if !tls.IsOn() {
		return nil
	}
	relevant := &v1alpha1.TLSSpec{Enabled: true, SecretName: tls.SecretName}
	if exporter.Enabled {
		relevant.AllowUnencrypted, relevant.Port = tls.AllowUnencrypted, tls.Port
	}
	return relevant
}

// sentinelTLSPort is where Sentinels take TLS beside plaintext.
func sentinelTLSPort(tls *v1alpha1.TLSSpec) []*corev1ac.ServicePortApplyConfiguration {
	if !tls.IsOn() || tls.IsOnly() {
		return nil
	}
	return []*corev1ac.ServicePortApplyConfiguration{
		servicePort(naming.PortNameSentinelTLS, tls.PortBeside(naming.PortSentinelTLS, naming.PortSentinel)),
	}
}
