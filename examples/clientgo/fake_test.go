// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/fake"
)

func cache(primary string) *v1alpha1.Valkey {
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"}}
	valkey.Status.Primary = primary
	return valkey
}

// In a test, a client of nobody: what is stored it remembers, and what is live the test answers.
func Example_fake() {
	client := fake.NewClientset(cache("cache-0"))
	client.PrependReactor("create", "valkeys/failover", func(action clienttesting.Action) (bool, runtime.Object, error) {
		asked := action.(clienttesting.CreateAction).GetObject().(*v1alpha1.Failover)
		return true, &v1alpha1.Failover{Status: v1alpha1.FailoverRequestStatus{Phase: v1alpha1.OperationSucceeded, To: asked.Spec.To}}, nil
	})
	api := client.ValkeyV1alpha1().Valkeys("default")
	valkey, err := api.Get(context.Background(), "cache", metav1.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("primary", valkey.Status.Primary)
	wanted := &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-1"}}
	answer, err := api.Failover(context.Background(), "cache", wanted, metav1.CreateOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Status.Phase, answer.Status.To)
	// Output:
	// primary cache-0
	// Succeeded cache-1
}

func TestPrimaries(t *testing.T) {
	client := fake.NewClientset(cache("cache-0"))
	seen := make(chan string, 10)
	lister, err := clientgo.Primaries(t.Context(), client, "default", func(valkey *v1alpha1.Valkey) { seen <- valkey.Status.Primary })
	if err != nil {
		t.Fatal(err)
	}
	if first := <-seen; first != "cache-0" {
		t.Errorf("first %s", first)
	}
	if _, err := client.ValkeyV1alpha1().Valkeys("default").UpdateStatus(t.Context(), cache("cache-1"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if next := <-seen; next != "cache-1" {
		t.Errorf("then %s", next)
	}
	if _, err := lister.Valkeys("default").Get("cache"); err != nil {
		t.Error(err)
	}
}

func TestBackup(t *testing.T) {
	client := fake.NewClientset()
	var content runtime.Object = &runtime.Unknown{Raw: []byte("REDIS0011")}
	var failure error
	client.PrependReactor("get", "valkeys/proxy", func(clienttesting.Action) (bool, runtime.Object, error) { return true, content, failure })
	file := filepath.Join(t.TempDir(), "cache.rdb")
	if err := clientgo.Backup(t.Context(), client, "default", "cache", file); err != nil {
		t.Fatal(err)
	}
	failure = errors.New("nobody answers")
	if err := clientgo.Backup(t.Context(), client, "default", "cache", file); !errors.Is(err, failure) {
		t.Errorf("a failure: %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "REDIS0011" {
		t.Errorf("%q: %v", got, err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("left behind %v: %v", left, err)
	}
}
