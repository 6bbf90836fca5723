// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// Fleet applies Valkeys fleet-0, fleet-1, … of team a.
func Fleet(t *testing.T, namespace string, count int, spec string) {
	t.Helper()
	var manifest strings.Builder
	for i := range count {
		fmt.Fprintf(&manifest, "apiVersion: valkey.io/v1alpha1\nkind: Valkey\nmetadata: {name: fleet-%d, labels: {team: a}}\nspec: %s\n---\n", i, spec)
	}
	Apply(t, namespace, manifest.String())
}

// WaitFleet waits until so many Valkeys are as asked.
func (e *Env) WaitFleet(t *testing.T, namespace, what string, count int, patience time.Duration, isSo func(*v1alpha1.Valkey) bool) {
	t.Helper()
	Eventually(t, patience, fmt.Sprintf("%d Valkeys are %s", count, what), func() error {
		list, err := e.Valkey.ValkeyV1alpha1().Valkeys(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		so := 0
		for i := range list.Items {
			if isSo(&list.Items[i]) {
				so++
			}
		}
		if so != count {
			return fmt.Errorf("%d are", so)
		}
		return nil
	})
}
