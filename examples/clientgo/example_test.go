// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/fake"
)

// In a pod, a client of the cluster's kube-apiserver. It speaks protobuf where nothing else is asked for.
func Example() {
	config, err := rest.InClusterConfig()
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	replication, err := client.ValkeyV1alpha1().Valkeys("default").GetReplication(context.Background(), "cache", metav1.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, member := range replication.Members {
		fmt.Println(member.Node, member.Role)
	}
}

// A test of a program needs no server: the fake clientset keeps objects, with server-side apply.
func ExampleCache() {
	ctx, client := context.Background(), fake.NewClientset()
	made, err := clientgo.Cache(ctx, client, "default", "cache", 2, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Name, made.Spec.Replicas, made.Spec.Failover.Mode)
	made, err = clientgo.Cache(ctx, client, "default", "cache", 3, false)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Name, made.Spec.Replicas, made.Spec.Failover.Mode)
	// Output:
	// cache 2 Operator
	// cache 3 Operator
}

func ExampleInState() {
	client := fake.NewClientset(&v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"}})
	// The fake clientset does not know field selectors or pieces; a server does.
	names, err := clientgo.InState(context.Background(), client, "default", v1alpha1.StateReady, 500)
	fmt.Println(names, err)
	// Output: [cache] <nil>
}

func ExamplePrimaries() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset(&v1alpha1.Valkey{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "cache"}, Status: v1alpha1.ValkeyStatus{Primary: "cache-0"},
	})
	primaries := make(chan string)
	go func() {
		_, err := clientgo.Primaries(ctx, client, "default", func(valkey *v1alpha1.Valkey) { primaries <- valkey.Status.Primary })
		if err != nil {
			fmt.Println(err)
		}
	}()
	fmt.Println(<-primaries)
	valkey, err := client.ValkeyV1alpha1().Valkeys("default").Get(ctx, "cache", metav1.GetOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	valkey.Status.Primary = "cache-1"
	if _, err := client.ValkeyV1alpha1().Valkeys("default").UpdateStatus(ctx, valkey, metav1.UpdateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(<-primaries)
	// Output:
	// cache-0
	// cache-1
}
