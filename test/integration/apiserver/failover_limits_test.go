// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// awaitClaim returns when somebody has claimed the Valkey "cache".
func awaitClaim(t *testing.T, namespace string) *v1alpha1.OperationStatus {
	t.Helper()
	watcher, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=cache"})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if valkey, ok := event.Object.(*v1alpha1.Valkey); ok && valkey.Status.Operation != nil {
			return valkey.Status.Operation
		}
	}
	t.Fatal("the watch ended without a claim")
	return nil
}

// A target that hangs in the middle does not hold up the caller beyond what was asked, nor the writers beyond the pause; the claim is
// let go, and everything is as before.
func TestFailoverToATargetThatHangs(t *testing.T) {
	const namespace = "failover-hangs"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 2, 3)
	type end struct {
		err  error
		took time.Duration
	}
	ended := make(chan end, 1)
	go func() {
		began := time.Now()
		_, err := failover(t, namespace, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-1", TimeoutSeconds: 8}})
		ended <- end{err, time.Since(began)}
	}()
	claim := awaitClaim(t, namespace)
	set.Nodes[1].Stop()
	if claim.Phase != v1alpha1.OperationInProgress || claim.From != "cache-0" || claim.To != "cache-1" || !claim.ExpiresAt.After(claim.StartedAt.Add(8*time.Second)) {
		t.Errorf("claim %+v", claim)
	}

	// Who comes second is told who was first.
	_, err := failoverOnce(t, namespace)
	expect(t, err, http.StatusConflict, "OperationInProgress", "from cache-0 to cache-1, requested by system:apiserver")
	_, err = ask(t, namespace, v1alpha1.FailoverRequestSpec{Valkey: "cache"})
	expect(t, err, http.StatusConflict, "OperationInProgress", "requested by system:apiserver")
	_, err = ask(t, namespace, v1alpha1.FailoverRequestSpec{Valkey: "cache"}, metav1.DryRunAll)
	expect(t, err, http.StatusConflict, "OperationInProgress", "requested by system:apiserver")

	got := <-ended
	if apierrors.IsTooManyRequests(got.err) { // it hung before the change had looked itself
		expect(t, got.err, http.StatusTooManyRequests, "TargetNotFit", "cache-1 does not answer")
	} else {
		expect(t, got.err, http.StatusGatewayTimeout, "FailoverFailed", "failed: cache-0 to cache-1: ")
	}
	if got.took > 16*time.Second { // 8 s, and what undoing takes
		t.Errorf("the caller waited %s", got.took)
	}
	recorded := get(t, namespace).Status
	if recorded.Operation.Phase != v1alpha1.OperationFailed || recorded.Operation.UID != claim.UID || recorded.LastFailover != nil {
		t.Errorf("recorded %+v", recorded)
	}
	set.Nodes[1].Cont()
	if !isPrimary(t, set.Nodes[0]) {
		t.Error("cache-0 is not primary any more")
	}
	began := time.Now()
	set.Nodes[0].Command("SET", "a", "1")
	if held := time.Since(began); held > 7*time.Second {
		t.Errorf("writes are held back: %s", held)
	}
	set.AwaitReplicas(t)
	set.AwaitSentinels(t)
	valkeytest.Eventually(t, "the next failover", func(context.Context) error {
		_, err := failoverOnce(t, namespace)
		return err
	})
}

func TestFailoverOfWhatIsGoing(t *testing.T) {
	const namespace = "failover-going"
	api := shared.client.ValkeyV1alpha1()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "cache", Finalizers: []string{"example.com/kept"}}}
	if _, err := api.Valkeys(namespace).Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := api.Valkeys(namespace).Delete(t.Context(), "cache", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := failoverOnce(t, namespace)
	expect(t, err, http.StatusConflict, "Terminating", "it is being deleted")
}

func TestFailoverOfAPrimaryAlone(t *testing.T) {
	const namespace = "failover-alone"
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "cache"}}
	if _, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := failoverOnce(t, namespace)
	// Not 429: the same request would never be granted.
	expect(t, err, http.StatusConflict, "NoReplicas", "spec.replicas is 0")
}

func TestFailoverThroughASentinelThatCannotTellWhat(t *testing.T) {
	const namespace = "failover-which"
	makeObjects(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	api := shared.client.ValkeyV1alpha1()
	lonely := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "lonely"}}
	lonely.Spec.Replicas = 3
	lonely.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watched": "no"}}
	if _, err := api.ValkeySentinels(namespace).Create(t.Context(), lonely, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	second := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: map[string]string{"watched": "yes"}}}
	second.Spec.Replicas, second.Spec.Failover.Mode = 1, v1alpha1.FailoverModeSentinel
	if _, err := api.Valkeys(namespace).Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	uid, version := types.UID("another"), "1"
	for name, c := range map[string]struct {
		set   string
		spec  v1alpha1.FailoverRequestSpec
		code  int32
		cause metav1.CauseType
		text  string
	}{
		"monitors nothing":    {"lonely", v1alpha1.FailoverRequestSpec{}, http.StatusConflict, "NotMonitored", "it monitors no Valkey"},
		"monitors two":        {"watch", v1alpha1.FailoverRequestSpec{}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueRequired, "it monitors cache, second"},
		"monitors others":     {"watch", v1alpha1.FailoverRequestSpec{Valkey: "third"}, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueNotSupported, "spec.valkey"},
		"has another UID":     {"watch", v1alpha1.FailoverRequestSpec{Preconditions: &v1alpha1.FailoverPreconditions{UID: &uid}}, http.StatusConflict, "PreconditionFailed", "another"},
		"has been changed":    {"watch", v1alpha1.FailoverRequestSpec{Preconditions: &v1alpha1.FailoverPreconditions{ResourceVersion: &version}}, http.StatusConflict, "PreconditionFailed", "resourceVersion"},
		"is not there at all": {"missing", v1alpha1.FailoverRequestSpec{}, http.StatusNotFound, "", "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := api.ValkeySentinels(namespace).Failover(t.Context(), c.set, &v1alpha1.Failover{Spec: c.spec}, metav1.CreateOptions{})
			expect(t, err, c.code, c.cause, c.text)
		})
	}
	body := &v1alpha1.Failover{ObjectMeta: metav1.ObjectMeta{Name: "other"}}
	err := api.RESTClient().Post().Namespace(namespace).Resource("valkeys").Name("cache").SubResource("failover").Body(body).MaxRetries(0).Do(t.Context()).Error()
	if err == nil || !strings.Contains(err.Error(), `the name in the body, "other", is not the one in the URL, "cache"`) {
		t.Errorf("a body about another: %v", err)
	}
}
