// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package issuance

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
)

// withoutKindFor is how long it is believed that the cluster has no Certificates: looking for a kind that is not there is a request more each time.
const withoutKindFor = 10 * time.Second

// Desk looks at Certificates for one kind of owners. Several may use it at the same time.
type Desk struct {
	// Cache has who uses a Secret; API is asked for the Certificates themselves.
	Cache, API client.Reader
	Now        func() time.Time

	mu sync.Mutex
	// without is since when it is known that the kind is not there; zero where it is.
	without time.Time
	// none are owners that ask for no Certificate and were seen to have none left: they are not looked at again until they ask.
	none map[types.NamespacedName]types.UID
}

// Look finds the Certificate of that name. isAsked: the owner's spec asks for it. It fails only where the look was cut short: whatever else stands in
// the way is told in the answer, because an instance must go on without.
func (d *Desk) Look(ctx context.Context, owner metav1.Object, name string, isAsked bool) (desired.Issuance, error) {
	key := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
	if !isAsked && d.isDone(key, owner.GetUID()) {
		return desired.Issuance{}, nil
	}
	found, err := d.get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name})
	switch {
	case ctx.Err() != nil:
		return desired.Issuance{}, ctx.Err()
	case isAsked:
		d.note(key, "")
		return found, nil
	case !found.IsOurs(owner):
		if err == nil {
			d.note(key, owner.GetUID())
		}
		return desired.Issuance{}, nil
	}
	found.UsedBy, err = d.userOf(ctx, key.Namespace, name)
	return found, err
}

// Forget an owner that is gone.
func (d *Desk) Forget(key types.NamespacedName) { d.note(key, "") }

func (d *Desk) isDone(key types.NamespacedName, uid types.UID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.none[key] == uid && uid != ""
}

func (d *Desk) note(key types.NamespacedName, done types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if done == "" {
		delete(d.none, key)
		return
	}
	if d.none == nil {
		d.none = map[types.NamespacedName]types.UID{}
	}
	d.none[key] = done
}

// get is the Certificate, with why it is not known. The error is of what may pass by itself.
func (d *Desk) get(ctx context.Context, key types.NamespacedName) (desired.Issuance, error) {
	withoutKind := desired.Issuance{Lacking: fmt.Sprintf("the cluster has no kind %s: install cert-manager, and it is asked", desired.CertificateKind.GroupKind())}
	d.mu.Lock()
	known := !d.without.IsZero() && d.Now().Sub(d.without) < withoutKindFor
	d.mu.Unlock()
	if known {
		return withoutKind, nil
	}
	live := Blank()
	err := d.API.Get(ctx, key, live)
	isWithout := isWithoutKind(err)
	d.mu.Lock()
	d.without = time.Time{}
	if isWithout {
		d.without = d.Now()
	}
	d.mu.Unlock()
	switch {
	case err == nil:
		return desired.Issuance{Live: live}, nil
	case isWithout:
		return withoutKind, nil
	case apierrors.IsNotFound(err):
		return desired.Issuance{}, nil
	case apierrors.IsForbidden(err):
		return desired.Issuance{Lacking: fmt.Sprintf("the controller may not use Certificates: %v: give it the right", err)}, nil
	}
	return desired.Issuance{Lacking: fmt.Sprintf("Certificate %s cannot be looked at: %v", key.Name, err)}, err
}

// isWithoutKind tells whether the API has no such kind: it says so itself, or, where it had it until just now, answers with no object's name.
func isWithoutKind(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// userOf is who of the product uses a Secret with a certificate, or is about to: a spec, a node, or a pod that still runs. Empty: nobody.
func (d *Desk) userOf(ctx context.Context, namespace, secret string) (string, error) {
	var valkeys v1alpha1.ValkeyList
	var sets v1alpha1.ValkeySentinelList
	var nodes v1alpha1.ValkeyNodeList
	var pods corev1.PodList
	for _, list := range []client.ObjectList{&valkeys, &sets, &nodes, &pods} {
		if err := d.Cache.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return "", fmt.Errorf("look for who uses Secret %s: %w", secret, err)
		}
	}
	for i := range valkeys.Items {
		if tls := valkeys.Items[i].TLS(); tls.IsOn() && tls.SecretName == secret {
			return "Valkey " + valkeys.Items[i].Name, nil
		}
	}
	for i := range sets.Items {
		if tls := sets.Items[i].TLS(); tls.IsOn() && tls.SecretName == secret {
			return "ValkeySentinel " + sets.Items[i].Name, nil
		}
	}
	for i := range nodes.Items {
		if tls := nodes.Items[i].Spec.TLS; tls.IsOn() && tls.SecretName == secret {
			return "ValkeyNode " + nodes.Items[i].Name, nil
		}
	}
	for i := range pods.Items {
		if desired.HasCertificate(&pods.Items[i], secret) {
			return "pod " + pods.Items[i].Name, nil
		}
	}
	return "", nil
}

// Blank is a Certificate to read into, or to name.
func Blank() *unstructured.Unstructured {
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(desired.CertificateKind)
	return certificate
}

// Applicable is what the client takes for an apply. What of a kind that is not compiled in is to be applied stays as it is: the answer is read into
// a copy.
func Applicable(config runtime.ApplyConfiguration) runtime.ApplyConfiguration {
	if foreign, is := config.(desired.Foreign); is {
		return client.ApplyConfigurationFromUnstructured(foreign.DeepCopy())
	}
	return config
}
