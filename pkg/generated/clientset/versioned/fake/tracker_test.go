// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	applyv1alpha1 "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
)

var made = metav1.CreateOptions{FieldManager: "maker"}

func valkey(name string) *v1alpha1.Valkey {
	return &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func TestEveryKindIsFoundHoweverItCameIn(t *testing.T) {
	for name, make := range map[string]func(...runtime.Object) *Clientset{"with field management": NewClientset, "without": NewSimpleClientset} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Namespace: "default", Name: "a"}
			client := make(valkey("a"), &v1alpha1.ValkeyList{Items: []v1alpha1.Valkey{*valkey("b")}},
				&v1alpha1.ValkeySentinel{ObjectMeta: meta}, &v1alpha1.ValkeyNode{ObjectMeta: meta}, &v1alpha1.Monitor{ObjectMeta: meta})
			if err := client.Tracker().Add(valkey("c")); err != nil {
				t.Fatal(err)
			}
			api := client.ValkeyV1alpha1()
			if _, err := api.Valkeys("default").Create(t.Context(), valkey("d"), made); err != nil {
				t.Fatal(err)
			}
			list, err := api.Valkeys("").List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 4 {
				t.Fatalf("%d Valkeys: %v", len(list.Items), err)
			}
			for _, item := range list.Items {
				if _, err := api.Valkeys("default").Get(t.Context(), item.Name, metav1.GetOptions{}); err != nil {
					t.Error(err)
				}
			}
			_, sentinelErr := api.ValkeySentinels("default").Get(t.Context(), "a", metav1.GetOptions{})
			_, nodeErr := api.ValkeyNodes("default").Get(t.Context(), "a", metav1.GetOptions{})
			_, monitorErr := api.Monitors("default").Get(t.Context(), "a", metav1.GetOptions{})
			if sentinelErr != nil || nodeErr != nil || monitorErr != nil {
				t.Error(sentinelErr, nodeErr, monitorErr)
			}
		})
	}
}

func TestEveryVerb(t *testing.T) {
	client := NewClientset()
	api := client.ValkeyV1alpha1().Valkeys("default")
	events, err := api.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	created, err := api.Create(t.Context(), valkey("a"), made)
	if err != nil {
		t.Fatal(err)
	}
	created.Spec.Replicas = 1
	if _, err := api.Update(t.Context(), created, metav1.UpdateOptions{FieldManager: "maker"}); err != nil {
		t.Error(err)
	}
	created.Status.Primary = "a-0"
	if _, err := api.UpdateStatus(t.Context(), created, metav1.UpdateOptions{FieldManager: "controller"}); err != nil {
		t.Error(err)
	}
	if _, err := api.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	replicas := applyv1alpha1.Valkey("a", "default").WithSpec(applyv1alpha1.ValkeySpec().WithReplicas(2))
	_, err = api.Apply(t.Context(), replicas, metav1.ApplyOptions{FieldManager: "other"})
	if !apierrors.IsConflict(err) {
		t.Errorf("a field of somebody else: %v", err)
	}
	applied, err := api.Apply(t.Context(), replicas, metav1.ApplyOptions{FieldManager: "other", Force: true})
	if err != nil || applied.Spec.Replicas != 2 || applied.Labels["a"] != "b" {
		t.Errorf("%+v: %v", applied, err)
	}
	if err := api.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	last := watch.Event{}
	for last.Type != watch.Deleted {
		last = <-events.ResultChan()
	}

	_, err = api.Get(t.Context(), "a", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) || err.Error() != `valkeys.valkey.io "a" not found` {
		t.Errorf("what is gone: %v", err)
	}
}

func TestWhatIsStoredNowhereIsForTheTestToAnswer(t *testing.T) {
	client := NewClientset(valkey("a"))
	api := client.ValkeyV1alpha1().Valkeys("default")
	_, replicationErr := api.GetReplication(t.Context(), "a", metav1.GetOptions{})
	_, failoverErr := api.Failover(t.Context(), "a", &v1alpha1.Failover{}, metav1.CreateOptions{})
	_, snapshotErr := api.GetSnapshot(t.Context(), "a")
	_, requestErr := client.ValkeyV1alpha1().FailoverRequests("default").Create(t.Context(), &v1alpha1.FailoverRequest{}, metav1.CreateOptions{})
	for resource, err := range map[string]error{
		`"get", "valkeys/replication"`: replicationErr, `"create", "valkeys/failover"`: failoverErr,
		`"get", "valkeys/proxy"`: snapshotErr, `"create", "failoverrequests"`: requestErr,
	} {
		if err == nil || !strings.Contains(err.Error(), "PrependReactor("+resource) {
			t.Errorf("%s: %v", resource, err)
		}
	}

	answer := func(resource, verb string, object runtime.Object) {
		client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) { return true, object, nil })
	}
	answer("valkeys/replication", "get", &v1alpha1.Replication{Primary: "a-0"})
	answer("valkeys/proxy", "get", &runtime.Unknown{Raw: []byte("REDIS0011")})
	replication, err := api.GetReplication(t.Context(), "a", metav1.GetOptions{})
	if err != nil || replication.Primary != "a-0" {
		t.Errorf("%+v: %v", replication, err)
	}
	stream, err := api.GetSnapshot(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(stream); err != nil || string(content) != "REDIS0011" {
		t.Errorf("%q: %v", content, err)
	}
	answer("valkeys/proxy", "get", &v1alpha1.Valkey{})
	if _, err := api.GetSnapshot(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "*runtime.Unknown") {
		t.Errorf("a wrong answer: %v", err)
	}
}
