// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// productUsers is how the names of the product's users begin.
const productUsers = "system:serviceaccount:" + naming.SystemNamespace + ":"

// requests are those of the users whose names begin so, from kube-apiserver's audit log, which must tell of some.
func requests(t *testing.T, users string) []auditv1.Event {
	t.Helper()
	log, err := os.Open(filepath.Join(filepath.Dir(os.Getenv("KUBECONFIG")), "logs", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	var events []auditv1.Event
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditv1.Event
		if json.Unmarshal(lines.Bytes(), &event) == nil && strings.HasPrefix(event.User.Username, users) {
			events = append(events, event)
		}
	}
	if err := lines.Err(); err != nil || len(events) == 0 {
		t.Fatalf("the audit log tells nothing of %s: %v", users, err)
	}
	return events
}

// ControllerWrites are the controller's writes since a time; its lease is not one.
func ControllerWrites(t *testing.T, since time.Time) []string {
	t.Helper()
	var writes []string
	for _, event := range requests(t, productUsers+"valkey-controller") {
		isLease := event.ObjectRef != nil && event.ObjectRef.Resource == "leases"
		if isLease || !event.RequestReceivedTimestamp.After(since) {
			continue
		}
		switch event.Verb {
		case "create", "update", "patch", "delete", "deletecollection", "apply":
			writes = append(writes, event.Verb+" "+event.RequestURI)
		}
	}
	return writes
}

// settled is how long the controller must have written nothing until it counts as having nothing left to write.
const settled = 15 * time.Second

// WaitNothingToWrite waits until the controller has written nothing for a while.
func WaitNothingToWrite(t *testing.T, patience time.Duration) {
	t.Helper()
	Eventually(t, patience, "the controller has nothing left to write", func() error {
		if writes := ControllerWrites(t, time.Now().Add(-settled)); len(writes) > 0 {
			return fmt.Errorf("%d writes: %v", len(writes), writes)
		}
		return nil
	})
}

// Forbidden are the requests of the product that were refused since a time, because it had no right to them.
func Forbidden(t *testing.T, since time.Time) []string {
	t.Helper()
	var refused []string
	for _, event := range requests(t, productUsers) {
		if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusForbidden && event.RequestReceivedTimestamp.After(since) {
			refused = append(refused, fmt.Sprintf("%s: %s %s", event.User.Username, event.Verb, event.RequestURI))
		}
	}
	return refused
}
