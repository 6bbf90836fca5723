// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdcert

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	lookEvery    = 10 * time.Second
	lookTimeout  = 15 * time.Second
	fieldManager = naming.FieldManager + "-etcd-certificate"
	// keyBundle is the CA beside the certificates that it signed.
	keyBundle = "ca.crt"
)

// Names of the Secrets.
const (
	SecretCA     = "valkey-etcd-ca"
	SecretMember = "valkey-etcd-tls"
	SecretClient = "valkey-etcd-client-tls"
)

// service is the headless Service of the members, and the name of their StatefulSet.
const service = "valkey-etcd"

// Keeper keeps the certificates. Any number of keepers may run at a time: they write only over what they have read.
type Keeper struct {
	Kube kubernetes.Interface
	// Namespace that the product is installed in.
	Namespace string
	// ClusterDomain of the cluster.
	ClusterDomain string
	// Members of the etcd.
	Members int
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Run keeps the certificates until the context ends. What fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	log := klog.FromContext(ctx).WithName("etcd-certificates")
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	last := ""
	for {
		err := k.Look(klog.NewContext(ctx, log))
		switch {
		case err == nil:
			last = ""
		case err.Error() != last && ctx.Err() == nil:
			last = err.Error()
			log.Error(err, "keep the certificates of etcd; it is tried again")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// leaves are the certificates by the Secret that holds them. Members are servers, and clients of each other; the common name keeps the API
// servers from being taken for members.
func (k *Keeper) leaves() map[string]leaf {
	members := leaf{commonName: service, usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for i := range k.Members {
		host := fmt.Sprintf("%s-%d.%s.%s.svc", service, i, service, k.Namespace)
		members.hosts = append(members.hosts, host, host+"."+k.ClusterDomain)
	}
	members.hosts = append(members.hosts, "localhost")
	return map[string]leaf{
		SecretMember: members,
		SecretClient: {commonName: naming.APIServerService, usage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
	}
}

// Look makes what is missing and renews what is old.
func (k *Keeper) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now := time.Now()
	if k.Now != nil {
		now = k.Now()
	}
	found := map[string]*corev1.Secret{}
	for _, name := range []string{SecretCA, SecretMember, SecretClient} {
		secret, err := k.Kube.CoreV1().Secrets(k.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("read Secret %s: %w", name, err)
		}
		if err == nil {
			found[name] = secret
		}
	}
	ca, err := k.ca(ctx, found, now)
	if err != nil {
		return err
	}
	for name, wanted := range k.leaves() {
		if have := found[name]; have != nil && wanted.isGood(pairOf(have), ca, now) {
			continue
		}
		made, err := wanted.issue(ca, now)
		if err != nil {
			return err
		}
		if err := k.write(ctx, found[name], name, made, ca.certificate); err != nil {
			return err
		}
	}
	return nil
}

// ca is the CA, made when nothing has been signed yet. Another one in place of a lost one would cut members that run off from each other.
func (k *Keeper) ca(ctx context.Context, found map[string]*corev1.Secret, now time.Time) (pair, error) {
	if secret := found[SecretCA]; secret != nil {
		ca := pairOf(secret)
		if _, _, err := ca.parse(); err != nil {
			return pair{}, fmt.Errorf("Secret %s holds no CA any more: %w", SecretCA, err)
		}
		return ca, nil
	}
	if found[SecretMember] != nil || found[SecretClient] != nil {
		return pair{}, errors.New("Secret " + SecretCA + " is gone, so that certificates cannot be renewed: put it back, or delete the Secrets " +
			SecretMember + " and " + SecretClient + " and restart etcd and the API servers together")
	}
	ca, err := newCA(now)
	if err != nil {
		return pair{}, err
	}
	return ca, k.write(ctx, nil, SecretCA, ca, ca.certificate)
}

func pairOf(secret *corev1.Secret) pair {
	return pair{certificate: secret.Data[corev1.TLSCertKey], key: secret.Data[corev1.TLSPrivateKeyKey]}
}

func (k *Keeper) write(ctx context.Context, have *corev1.Secret, name string, made pair, bundle []byte) error {
	secrets := k.Kube.CoreV1().Secrets(k.Namespace)
	data := map[string][]byte{corev1.TLSCertKey: made.certificate, corev1.TLSPrivateKeyKey: made.key, keyBundle: bundle}
	var err error
	if have == nil {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: k.Namespace, Labels: map[string]string{naming.LabelName: service}},
			Type:       corev1.SecretTypeTLS, Data: data,
		}, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		renewed := have.DeepCopy()
		renewed.Data = data
		// The resourceVersion that was read goes with it: another keeper's write in between makes this one fail.
		_, err = secrets.Update(ctx, renewed, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	klog.FromContext(ctx).Info("certificate of etcd", "secret", name)
	return nil
}
