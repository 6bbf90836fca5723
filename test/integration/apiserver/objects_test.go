// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	applyvalkey "github.com/valkeykube/valkeykube/pkg/generated/applyconfiguration/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// contentTypes notes the content types of requests and answers.
type contentTypes struct {
	rest http.RoundTripper
	mu   sync.Mutex
	seen map[string]bool
}

func (c *contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := c.rest.RoundTrip(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := request.Header.Get("Content-Type"); text != "" {
		c.seen["request "+text] = true
	}
	if err == nil {
		c.seen["answer "+answer.Header.Get("Content-Type")] = true
	}
	return answer, err
}

func TestClientsSpeakProtobufByDefault(t *testing.T) {
	types := &contentTypes{seen: map[string]bool{}}
	config := rest.CopyConfig(shared.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		types.rest = next
		return types
	})
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	valkeys := client.ValkeyV1alpha1().Valkeys("wire")
	created, err := valkeys.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if created.Spec.Image != v1alpha1.DefaultImage {
		t.Errorf("defaults are missing: %+v", created.Spec)
	}
	if _, err := valkeys.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for seen := range types.seen {
		if !strings.Contains(seen, "application/vnd.kubernetes.protobuf") {
			t.Errorf("seen on the wire: %s", seen)
		}
	}
	if len(types.seen) != 2 {
		t.Errorf("seen on the wire: %v", types.seen)
	}
}

func TestEachKindLivesAndDies(t *testing.T) {
	const namespace = "life"
	api := shared.client.ValkeyV1alpha1()
	t.Run("Valkey", func(t *testing.T) {
		created, err := api.Valkeys(namespace).Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{GenerateName: "a-"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		created.Spec.Replicas = 2
		updated, err := api.Valkeys(namespace).Update(t.Context(), created, metav1.UpdateOptions{})
		if err != nil || updated.Generation != 2 {
			t.Fatalf("generation %d, %v", updated.Generation, err)
		}
		patched, err := api.Valkeys(namespace).Patch(t.Context(), created.Name, types.MergePatchType, []byte(`{"spec":{"config":{"maxmemory":"1gb"}}}`), metav1.PatchOptions{})
		if err != nil || patched.Spec.Config["maxmemory"] != "1gb" || patched.Spec.Replicas != 2 {
			t.Fatalf("patched %+v, %v", patched.Spec, err)
		}
		if err := api.Valkeys(namespace).Delete(t.Context(), created.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := api.Valkeys(namespace).Get(t.Context(), created.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after the deletion: %v", err)
		}
	})
	t.Run("ValkeySentinel", func(t *testing.T) {
		created, err := api.ValkeySentinels(namespace).Create(t.Context(), &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
		if err != nil || created.Spec.Replicas != 3 {
			t.Fatalf("%+v, %v", created.Spec, err)
		}
		if err := api.ValkeySentinels(namespace).Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("ValkeyNode", func(t *testing.T) {
		if _, err := api.ValkeyNodes(namespace).Create(t.Context(), &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := api.ValkeyNodes(namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if list, err := api.ValkeyNodes(namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
			t.Errorf("%d left, %v", len(list.Items), err)
		}
	})
}

func TestScale(t *testing.T) {
	const namespace = "scale"
	api := shared.client.ValkeyV1alpha1()
	makeObjects(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	scale, err := api.Valkeys(namespace).GetScale(t.Context(), "cache", metav1.GetOptions{})
	if err != nil || scale.Spec.Replicas != 1 {
		t.Fatalf("%+v, %v", scale, err)
	}
	scale.Spec.Replicas = 3
	if scale, err = api.Valkeys(namespace).UpdateScale(t.Context(), "cache", scale, metav1.UpdateOptions{}); err != nil || scale.Spec.Replicas != 3 {
		t.Fatalf("%+v, %v", scale, err)
	}
	if valkey := get(t, namespace); valkey.Spec.Replicas != 3 || valkey.Generation != 2 {
		t.Errorf("replicas %d, generation %d", valkey.Spec.Replicas, valkey.Generation)
	}
	watching, err := api.ValkeySentinels(namespace).GetScale(t.Context(), "watch", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watching.Spec.Replicas = 2
	_, err = api.ValkeySentinels(namespace).UpdateScale(t.Context(), "watch", watching, metav1.UpdateOptions{})
	expect(t, err, http.StatusUnprocessableEntity, metav1.CauseTypeFieldValueInvalid, "spec.replicas: Invalid value: 2: must be greater than or equal to 3")
}

func TestServerSideApply(t *testing.T) {
	const namespace = "apply"
	valkeys := shared.client.ValkeyV1alpha1().Valkeys(namespace)
	user := func(name string) *applyvalkey.UserSpecApplyConfiguration {
		return applyvalkey.UserSpec().WithName(name).WithNoPass(true)
	}
	apply := func(manager string, spec *applyvalkey.ValkeySpecApplyConfiguration) (*v1alpha1.Valkey, error) {
		return valkeys.Apply(t.Context(), applyvalkey.Valkey("a", namespace).WithSpec(spec), metav1.ApplyOptions{FieldManager: manager})
	}
	if _, err := apply("alice", applyvalkey.ValkeySpec().WithReplicas(1).WithUsers(user("a"))); err != nil {
		t.Fatal(err)
	}
	both, err := apply("bob", applyvalkey.ValkeySpec().WithUsers(user("b")))
	if err != nil || len(both.Spec.Users) != 2 || both.Spec.Replicas != 1 {
		t.Fatalf("lists are merged by name: %+v, %v", both.Spec.Users, err)
	}
	if _, err := apply("bob", applyvalkey.ValkeySpec().WithReplicas(5).WithUsers(user("b"))); !apierrors.IsConflict(err) {
		t.Errorf("another's field: %v", err)
	}
	// The status that comes along belongs to nobody.
	withStatus := applyvalkey.Valkey("a", namespace).WithSpec(applyvalkey.ValkeySpec().WithUsers(user("b"))).WithStatus(applyvalkey.ValkeyStatus().WithPrimary("x"))
	applied, err := valkeys.Apply(t.Context(), withStatus, metav1.ApplyOptions{FieldManager: "bob"})
	if err != nil || applied.Status.Primary != "" {
		t.Errorf("status through the main endpoint: %+v, %v", applied.Status, err)
	}
	for _, entry := range applied.ManagedFields {
		if strings.Contains(entry.FieldsV1.GetRawString(), "f:status") {
			t.Errorf("%s owns a status that it could not write: %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
	status := applyvalkey.Valkey("a", namespace).WithStatus(applyvalkey.ValkeyStatus().WithPrimary("a-0"))
	applied, err = valkeys.ApplyStatus(t.Context(), status, metav1.ApplyOptions{FieldManager: "controller"})
	if err != nil || applied.Status.Primary != "a-0" || applied.Spec.Replicas != 1 {
		t.Errorf("through the status endpoint: %+v, %v", applied, err)
	}
	gone, err := apply("bob", applyvalkey.ValkeySpec())
	if err != nil || len(gone.Spec.Users) != 1 || gone.Spec.Users[0].Name != "a" {
		t.Errorf("what bob gave up is still there: %+v, %v", gone.Spec.Users, err)
	}
}
