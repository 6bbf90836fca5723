// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"net"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// observeEncryption finds out what the Secret for TLS holds, and how to speak to servers and Sentinels: by what the nodes have now, whatever the
// spec asks for.
func (r *reconciler) observeEncryption(ctx context.Context, l *look) error {
	l.encryption = map[string]valkeyclient.Encryption{}
	namespace := l.Valkey.Namespace
	if tls := l.Valkey.TLS(); tls.IsOn() {
		l.Certificate = r.deps.Certificates.Summary(ctx, namespace, tls.SecretName)
	}
	var err error
	isAsked := l.Valkey.Spec.Networking.TLS.Asked() != nil
	if l.Issuance, err = r.issuance.Look(ctx, l.Valkey, naming.ValkeyCertificate(l.Valkey.Name), isAsked); err != nil {
		return err
	}
	for _, n := range l.Nodes {
		encryption, err := r.deps.Certificates.NodeEncryption(ctx, n.Object)
		if err != nil {
			// It is not reached then, unless it still speaks plaintext; the certificate's own condition says why.
			ctrl.LoggerFrom(ctx).V(1).Info("no way to speak TLS", "node", n.Object.Name, "error", err.Error())
		}
		l.encryption[n.Object.Name] = encryption
	}
	if set := l.Monitoring.Set; set != nil {
		encryption, err := r.sentinelEncryption(ctx, namespace, set.Name)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("no way to speak TLS", "valkeySentinel", set.Name, "error", err.Error())
		}
		for _, name := range sentinelNames(set) {
			l.encryption[name] = encryption
		}
	}
	return nil
}

// sentinelEncryption is how the Sentinels of a set are spoken to.
func (r *reconciler) sentinelEncryption(ctx context.Context, namespace, name string) (valkeyclient.Encryption, error) {
	set := &v1alpha1.ValkeySentinel{}
	if err := r.client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, set); err != nil {
		return valkeyclient.Encryption{}, err
	}
	return r.deps.Certificates.SentinelEncryption(ctx, set)
}

// served is which certificate each node shows. A pod that was seen with the right one is not asked again.
func (r *reconciler) served(ctx context.Context, l *look) map[string]string {
	if l.Certificate.Serial == "" {
		return nil
	}
	served := map[string]string{}
	for _, n := range l.Nodes {
		name := n.Object.Name
		m, _ := l.Snapshot.Member(name)
		if n.Pod == nil || !m.Answered() || m.Listeners.TLS == 0 {
			continue
		}
		known := l.known.memory.Served[name]
		if known.Pod == n.Pod.UID && known.Serial == l.Certificate.Serial {
			served[name] = known.Serial
			continue
		}
		address := net.JoinHostPort(n.Pod.Status.PodIP, strconv.Itoa(m.Listeners.TLS))
		shown, err := r.deps.Valkey.ServedCertificate(ctx, l.encryption[name].On(valkeyclient.Target{Name: name, Address: address}))
		if err == nil {
			served[name] = discovery.SerialOf(shown)
		}
	}
	return served
}
