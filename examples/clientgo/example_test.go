// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
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
