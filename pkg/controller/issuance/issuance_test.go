// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package issuance

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const name = "valkey-cache-tls"

// office is a Desk in a namespace with one Valkey, which asks for a certificate.
type office struct {
	t      *testing.T
	desk   Desk
	kube   client.Client
	valkey *v1alpha1.Valkey
	now    time.Time
	// gets counts how often a Certificate was asked for; err is what is answered, if anything.
	gets int
	err  error
}

func newOffice(t *testing.T, objects ...client.Object) *office {
	t.Helper()
	o := &office{t: t, now: time.Unix(0, 0)}
	o.valkey = &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache", UID: "uid"}}
	o.valkey.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypeWithName(desired.CertificateKind, &unstructured.Unstructured{})
	o.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			o.gets++
			if o.err != nil {
				return o.err
			}
			return next.Get(ctx, key, object, options...)
		},
	}).Build()
	o.desk = Desk{Cache: o.kube, API: o.kube, Now: func() time.Time { return o.now }}
	return o
}

func (o *office) look(isAsked bool) desired.Issuance {
	o.t.Helper()
	found, err := o.desk.Look(o.t.Context(), o.valkey, name, isAsked)
	if err != nil {
		o.t.Fatal(err)
	}
	return found
}

// ours is the Certificate that the Valkey has.
func (o *office) ours() *unstructured.Unstructured {
	return desired.ValkeyCertificate(o.valkey, 1, "cluster.local")
}

func (o *office) create(object client.Object) {
	o.t.Helper()
	if err := o.kube.Create(o.t.Context(), object); err != nil {
		o.t.Fatal(err)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	resource := schema.GroupResource{Group: "cert-manager.io", Resource: "certificates"}
	gone := apierrors.NewGenericServerResponse(404, "get", resource, name, "404 page not found", 0, true)
	for about, c := range map[string]struct {
		err  error
		says string
		// again: the next look asks again.
		again bool
	}{
		"never had the kind":      {&meta.NoKindMatchError{GroupKind: desired.CertificateKind.GroupKind()}, "no kind Certificate.cert-manager.io: install cert-manager", false},
		"has no such kind now":    {gone, "no kind Certificate.cert-manager.io: install cert-manager", false},
		"no right":                {apierrors.NewForbidden(resource, name, errors.New("RBAC")), "give it the right", true},
		"something else is amiss": {apierrors.NewInternalError(errors.New("a webhook fails")), "a webhook fails", true},
		"there is none":           {apierrors.NewNotFound(resource, name), "", true},
	} {
		t.Run(about, func(t *testing.T) {
			o := newOffice(t)
			o.err = c.err
			if found := o.look(true); found.Live != nil || !strings.Contains(found.Lacking, c.says) || (found.Lacking == "") != (c.says == "") {
				t.Errorf("%+v", found)
			}
			if o.look(true); (o.gets == 2) != c.again {
				t.Errorf("asked %d times", o.gets)
			}
			o.err, o.now = nil, o.now.Add(withoutKindFor)
			o.create(o.ours())
			if found := o.look(true); found.Live == nil || found.Lacking != "" {
				t.Errorf("when it is well again: %+v", found)
			}
		})
	}
}

// Who never asked is looked at once: an instance without cert-manager costs nothing.
func TestNobodyAsks(t *testing.T) {
	o := newOffice(t)
	o.valkey.Spec.Networking.TLS = nil
	for range 3 {
		if found := o.look(false); found != (desired.Issuance{}) {
			t.Errorf("%+v", found)
		}
	}
	if o.gets != 1 {
		t.Errorf("asked %d times", o.gets)
	}
	o.look(true)
	o.look(false)
	if o.gets != 3 {
		t.Errorf("who asked and no longer does is not looked at: %d", o.gets)
	}
	o.valkey.UID = "another of the name"
	if o.look(false); o.gets != 4 {
		t.Errorf("another one of the name is not looked at: %d", o.gets)
	}
	o.desk.Forget(client.ObjectKeyFromObject(o.valkey))
	if o.look(false); o.gets != 5 {
		t.Errorf("one that was forgotten is not looked at: %d", o.gets)
	}
	o.desk.Forget(client.ObjectKeyFromObject(o.valkey))
	o.err = apierrors.NewInternalError(errors.New("for a moment"))
	o.look(false)
	o.err = nil
	if o.look(false); o.gets != 7 {
		t.Errorf("after a failure it is not looked at again: %d", o.gets)
	}
}

// A Certificate that is no longer asked for is told of with whoever still uses its Secret; somebody else's is nobody's business.
func TestWhoUsesTheSecret(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "other"}
	byName := &v1alpha1.TLSSpec{Enabled: true, SecretName: name}
	valkey, set, node := &v1alpha1.Valkey{ObjectMeta: meta}, &v1alpha1.ValkeySentinel{ObjectMeta: meta}, &v1alpha1.ValkeyNode{ObjectMeta: meta}
	valkey.Spec.Networking.TLS, set.Spec.Networking.TLS, node.Spec.TLS = byName, byName, byName
	off := &v1alpha1.ValkeyNode{ObjectMeta: meta}
	off.Spec.TLS = &v1alpha1.TLSSpec{SecretName: name}
	pod := &corev1.Pod{ObjectMeta: meta}
	volume := corev1.Volume{Name: "tls"}
	volume.Secret = &corev1.SecretVolumeSource{SecretName: name}
	pod.Spec.Volumes = []corev1.Volume{volume}
	elsewhere := pod.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	itself := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache"}}
	itself.Spec.Networking.TLS = &v1alpha1.TLSSpec{Enabled: true, CertManager: &v1alpha1.CertManagerSpec{}}
	for want, object := range map[string]client.Object{
		"Valkey other": valkey, "ValkeySentinel other": set, "ValkeyNode other": node, "pod other": pod, "": elsewhere, "Valkey cache": itself,
	} {
		o := newOffice(t, object)
		o.create(o.ours())
		if found := o.look(false); found.Live == nil || found.UsedBy != want {
			t.Errorf("%T: used by %q, want %q", object, found.UsedBy, want)
		}
	}
	o := newOffice(t, off)
	o.create(o.ours())
	if found := o.look(false); found.UsedBy != "" || !found.MayBeRemoved(o.valkey) {
		t.Errorf("a node without TLS: %+v", found)
	}
	o = newOffice(t)
	foreign := o.ours()
	foreign.SetOwnerReferences(nil)
	o.create(foreign)
	if found := o.look(false); found.Live != nil {
		t.Errorf("somebody else's: %+v", found)
	}
	if found := o.look(true); found.Live == nil || found.IsOurs(o.valkey) {
		t.Errorf("somebody else's, where it is in the way: %+v", found)
	}
}

func TestApplyingLeavesWhatIsWantedAsItIs(t *testing.T) {
	o := newOffice(t)
	want := desired.Foreign{Unstructured: o.ours()}
	if err := o.kube.Apply(t.Context(), Applicable(want), client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	if want.GetResourceVersion() != "" {
		t.Error("the answer was read into what is wanted")
	}
	if same, err := desired.IsApplied(o.look(true).Live, want); err != nil || !same {
		t.Errorf("what was applied is not as wanted: %t, %v", same, err)
	}
	secret := client.ApplyConfigurationFromUnstructured(o.ours())
	if Applicable(secret) != secret {
		t.Error("what is no Certificate is changed")
	}
}
