// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Keys of the Secret beside those of every TLS Secret, and annotations of it.
const (
	keyBundle = "ca.crt"
	// keyNext and keyNextKey are a certificate that is prepared and not in use yet.
	keyNext    = "next.crt"
	keyNextKey = "next.key"

	annotationServingSince = "valkey.io/serving-since"
	// AnnotationRotate on the Secret, with any value, asks for a renewal now.
	AnnotationRotate = "valkey.io/rotate"
)

const (
	// lookEvery is how often the Secret and the APIService are looked at: a new APIService is not trusted before.
	lookEvery = 5 * time.Second
	// lookTimeout bounds one look.
	lookTimeout = 15 * time.Second
	// fieldManager owns the bundle in the APIService.
	fieldManager = naming.FieldManager + "-certificate"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Keeper keeps the certificate. Any number of keepers may run at a time: they write only over what they have read.
type Keeper struct {
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Namespace that the product is installed in.
	Namespace string
	// ClusterDomain of the cluster.
	ClusterDomain string
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Run keeps the certificate until the context ends. What fails is logged and tried again.
func (k *Keeper) Run(ctx context.Context) {
	log := klog.FromContext(ctx).WithName("serving-certificate")
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
			log.Error(err, "keep the serving certificate; it is tried again")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Look makes at most one step, and lets the aggregator trust what is stored.
func (k *Keeper) Look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	secret, err := k.Kube.CoreV1().Secrets(k.Namespace).Get(ctx, naming.APIServerCertSecret, metav1.GetOptions{})
	exists := err == nil
	switch {
	case apierrors.IsNotFound(err):
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: naming.APIServerCertSecret}}
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", naming.APIServerCertSecret, err)
	}
	trusted, trustErr := k.trusted(ctx)
	state := stateOf(secret, trusted)
	now := k.now()
	step, why := Decide(state, k.hosts(), now)
	if step != StepNone {
		if state, err = k.store(ctx, secret, exists, state, step, now); err != nil {
			return err
		}
		klog.FromContext(ctx).Info("serving certificate", "step", step, "why", why)
	}
	if trustErr != nil {
		return trustErr
	}
	if bytes.Equal(trusted, state.Bundle) {
		return nil
	}
	return k.trust(ctx, state.Bundle)
}

func (k *Keeper) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

// hosts are the names under which the aggregator, and people in the cluster, reach the API server.
func (k *Keeper) hosts() []string {
	host := naming.APIServerService + "." + k.Namespace + ".svc"
	return []string{host, host + "." + k.ClusterDomain}
}

// store writes the state after the step, if the Secret still is the one that was read.
func (k *Keeper) store(ctx context.Context, secret *corev1.Secret, exists bool, state State, step Step, now time.Time) (State, error) {
	var fresh Pair
	var ca []byte
	if step == StepIssue || step == StepPrepare {
		var err error
		if fresh, ca, err = issue(k.hosts(), now); err != nil {
			return state, fmt.Errorf("issue a certificate: %w", err)
		}
	}
	state = advance(state, step, fresh, ca, now)
	state.into(secret)
	secrets := k.Kube.CoreV1().Secrets(k.Namespace)
	var err error
	if exists {
		// The resourceVersion that was read goes with it: another keeper's write in between makes this one fail.
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	} else {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	}
	if err != nil {
		return state, fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	return state, nil
}

func stateOf(secret *corev1.Secret, trusted []byte) State {
	state := State{
		Current: Pair{secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]},
		Next:    Pair{secret.Data[keyNext], secret.Data[keyNextKey]},
		Bundle:  secret.Data[keyBundle],
		Trusted: trusted,
	}
	state.ServingSince, _ = time.Parse(time.RFC3339, secret.Annotations[annotationServingSince])
	_, state.RotationAsked = secret.Annotations[AnnotationRotate]
	return state
}

func (s State) into(secret *corev1.Secret) {
	if secret.Type == "" {
		secret.Type = corev1.SecretTypeTLS
	}
	secret.Data = map[string][]byte{
		corev1.TLSCertKey: s.Current.Certificate, corev1.TLSPrivateKeyKey: s.Current.Key, keyBundle: s.Bundle,
	}
	if len(s.Next.Certificate) > 0 {
		secret.Data[keyNext], secret.Data[keyNextKey] = s.Next.Certificate, s.Next.Key
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, annotationServingSince, s.ServingSince.UTC().Format(time.RFC3339))
	metav1.SetMetaDataLabel(&secret.ObjectMeta, naming.LabelName, naming.APIServerService)
	if !s.RotationAsked {
		delete(secret.Annotations, AnnotationRotate)
	}
}

// trusted is the bundle in the APIService. An APIService that does not exist yet trusts nothing.
func (k *Keeper) trusted(ctx context.Context) ([]byte, error) {
	service, err := k.Dynamic.Resource(apiServices).Get(ctx, naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read APIService %s: %w", naming.APIServiceName, err)
	}
	text, _, err := unstructured.NestedString(service.Object, "spec", "caBundle")
	if err != nil {
		return nil, fmt.Errorf("read APIService %s: %w", naming.APIServiceName, err)
	}
	return base64.StdEncoding.DecodeString(text)
}

// trust puts the bundle into the APIService, and touches nothing else of it.
func (k *Keeper) trust(ctx context.Context, bundle []byte) error {
	patch := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiServices.GroupVersion().String(),
		"kind":       "APIService",
		"metadata":   map[string]any{"name": naming.APIServiceName},
		"spec":       map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle)},
	}}
	_, err := k.Dynamic.Resource(apiServices).Apply(ctx, naming.APIServiceName, patch, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if err != nil {
		return fmt.Errorf("write the bundle to APIService %s: %w", naming.APIServiceName, err)
	}
	klog.FromContext(ctx).Info("the aggregator trusts the stored bundle", "certificates", len(authorities(bundle)))
	return nil
}
