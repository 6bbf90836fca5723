// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// observeEncryption finds out what the Secret for TLS holds, and how to speak to the Sentinels.
func (r *reconciler) observeEncryption(ctx context.Context, o *observation) error {
	var err error
	isAsked := o.Set.Spec.Networking.TLS.Asked() != nil
	if o.Issuance, err = r.issuance.Look(ctx, o.Set, naming.SentinelCertificate(o.Set.Name), isAsked); err != nil {
		return fmt.Errorf("observe %s: %w", o.Set.Name, err)
	}
	tls := o.Set.TLS()
	if !tls.IsOn() {
		return nil
	}
	o.Certificate = r.deps.Certificates.Summary(ctx, o.Set.Namespace, tls.SecretName)
	if o.encryption, err = r.deps.Certificates.SentinelEncryption(ctx, o.Set); err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("no way to speak TLS", "error", err.Error())
	}
	return nil
}

// encryptionOfNode is how a node is spoken to. One that does not exist is not.
func (r *reconciler) encryptionOfNode(ctx context.Context, name string, nodes []v1alpha1.ValkeyNode) valkeyclient.Encryption {
	for i := range nodes {
		node := &nodes[i]
		if node.Name != name {
			continue
		}
		encryption, err := r.deps.Certificates.NodeEncryption(ctx, node)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("no way to speak TLS", "node", name, "error", err.Error())
		}
		return encryption
	}
	return valkeyclient.Encryption{}
}

// servedBy is the serial number of the certificate that the Sentinel in a pod shows; empty where it cannot be asked. A pod that was seen with the
// right one is not asked again.
func (r *reconciler) servedBy(ctx context.Context, o *observation, pod *corev1.Pod, answers bool) string {
	if o.Certificate.Serial == "" || pod == nil || !answers || o.served == nil {
		return ""
	}
	if known, _ := o.served.Load(pod.UID); known == o.Certificate.Serial {
		return o.Certificate.Serial
	}
	address := r.places.DialSentinel(pod)
	if has := o.Noted.TLS; has != nil && has.Plaintext {
		host, _, _ := net.SplitHostPort(address)
		address = net.JoinHostPort(host, strconv.Itoa(has.Port))
	}
	shown, err := r.deps.Handshakes.ServedCertificate(ctx, valkeyclient.Target{
		Name: pod.Name, Address: address, TLS: o.encryption.Config, TLSRevision: o.encryption.Revision,
	})
	if err != nil {
		return ""
	}
	serial := discovery.SerialOf(shown)
	if serial == o.Certificate.Serial {
		o.served.Store(pod.UID, serial)
	}
	return serial
}
