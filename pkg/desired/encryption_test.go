// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

func tlsAlone() *v1alpha1.TLSSpec {
	return &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", ClientCertificates: v1alpha1.ClientCertificatesRequired}
}

func tlsBeside() *v1alpha1.TLSSpec {
	port := int32(7000)
	return &v1alpha1.TLSSpec{Enabled: true, SecretName: "certs", AllowUnencrypted: true, Port: &port}
}

func TestEncryptedObjects(t *testing.T) {
	for name, tls := range map[string]*v1alpha1.TLSSpec{"alone": tlsAlone(), "beside": tlsBeside()} {
		t.Run(name, func(t *testing.T) {
			node := ofValkey()
			node.Spec.TLS = tls
			set := plainSet()
			set.Spec.Networking.TLS, set.Spec.Exporter.Enabled = tls, true
			valkey := testValkey(func(spec *v1alpha1.ValkeySpec) { spec.Networking.TLS = tls })
			nodeWorkload, err := NodeStatefulSet(NodeInput{Node: node, AgentImage: "agent:1"})
			if err != nil {
				t.Fatal(err)
			}
			sentinels, err := SentinelStatefulSet(SentinelInput{Set: set, AgentImage: "agent:1", Size: 3, Revision: "abc"})
			if err != nil {
				t.Fatal(err)
			}
			config, err := ValkeyConfigMap(valkey, ValkeyBoot{Nodes: []string{"v-0"}})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "tls_"+name, map[string]any{
				"node": nodeWorkload, "sentinels": sentinels, "config": config,
				"primary": ValkeyPrimaryService(valkey), "endpoints": ValkeyPrimaryEndpoints(valkey, nil, "IPv4"),
				"role": ValkeyAccessRole(valkey), "sentinelService": SentinelService(set), "sentinelRole": SentinelRole(set),
			})
		})
	}
}

// What a running server can be told restarts no pod, unless an exporter beside it has to be told, too.
func TestRevisionWithTLS(t *testing.T) {
	spec := func(tls *v1alpha1.TLSSpec, exporter bool) string {
		s := ofValkey().Spec
		s.TLS, s.Exporter.Enabled = tls, exporter
		return NodeRevision(s)
	}
	other := tlsAlone()
	other.SecretName = "other"
	for _, c := range []struct {
		what     string
		a, b     *v1alpha1.TLSSpec
		exporter bool
		same     bool
	}{
		{"from nothing to TLS", nil, tlsBeside(), false, false},
		{"another Secret", tlsAlone(), other, false, false},
		{"plaintext beside, ports, client certificates", tlsAlone(), tlsBeside(), false, true},
		{"plaintext beside, with an exporter", tlsAlone(), tlsBeside(), true, false},
		{"not enabled is none", nil, &v1alpha1.TLSSpec{SecretName: "certs"}, true, true},
	} {
		if same := spec(c.a, c.exporter) == spec(c.b, c.exporter); same != c.same {
			t.Errorf("%s: same revision: %t", c.what, same)
		}
	}
}

func TestHasCertificate(t *testing.T) {
	volume := corev1.Volume{Name: volumeTLS}
	volume.Secret = &corev1.SecretVolumeSource{SecretName: "certs"}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{volume}}}
	if !HasCertificate(pod, "certs") || HasCertificate(pod, "other") || HasCertificate(&corev1.Pod{}, "certs") {
		t.Error("the volumes of a pod are misread")
	}
}
