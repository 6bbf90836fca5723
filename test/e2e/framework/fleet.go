// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
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

// ControllerWrites are the controller's writes since a time, from kube-apiserver's audit log; its lease is not one.
func ControllerWrites(t *testing.T, since time.Time) []string {
	t.Helper()
	log, err := os.Open(filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "logs", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	var writes []string
	seen := false
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditv1.Event
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.User.Username != "system:serviceaccount:"+naming.SystemNamespace+":valkey-controller" {
			continue
		}
		seen = true
		lease := event.ObjectRef != nil && event.ObjectRef.Resource == "leases"
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection", "apply":
			if !lease && event.RequestReceivedTimestamp.After(since) {
				writes = append(writes, event.Verb+" "+event.RequestURI)
			}
		}
	}
	if err := lines.Err(); err != nil || !seen {
		t.Fatalf("the audit log tells nothing of the controller: %v", err)
	}
	return writes
}
