// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// ConfigMapName is the record, in the product's namespace.
	ConfigMapName = "valkey-apiserver-store"
	// AnnotationAccept on the record is a person's word that a store other than the one on record is to be served.
	AnnotationAccept = "valkey.io/accept-store"

	keyIdentity = "identity"
)

// ConfigMap is the record in a ConfigMap.
type ConfigMap struct {
	client corev1client.ConfigMapInterface
}

var _ Record = (*ConfigMap)(nil)

// NewConfigMap is the record in the namespace of the client.
func NewConfigMap(client corev1client.ConfigMapInterface) *ConfigMap {
	return &ConfigMap{client: client}
}

// Read is the id on record and the accepted one.
func (c *ConfigMap) Read(ctx context.Context) (recorded, accepted string, err error) {
	cm, err := c.client.Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	return cm.Data[keyIdentity], cm.Annotations[AnnotationAccept], nil
}

// Write puts an id on record, under the version that was read, and clears what was accepted.
func (c *ConfigMap) Write(ctx context.Context, id string) error {
	cm, err := c.client.Get(ctx, ConfigMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = c.client.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: ConfigMapName}, Data: map[string]string{keyIdentity: id},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	cm.Data = map[string]string{keyIdentity: id}
	delete(cm.Annotations, AnnotationAccept)
	_, err = c.client.Update(ctx, cm, metav1.UpdateOptions{})
	return err
}
