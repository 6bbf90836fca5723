// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

const (
	homeRetry   = time.Second
	homeTimeout = 5 * time.Second
)

// home is the namespace that the product is installed in: where the API server is, whose objects all controllers look after. The lease of the
// one that acts is kept there and nowhere else, so that two never act at once, from whatever namespace they run in.
func home(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make a client: %w", err)
	}
	for last := ""; ; {
		namespace, err := namespaceOfAPI(ctx, client)
		if err == nil {
			return namespace, nil
		}
		if err.Error() != last {
			last = err.Error()
			ctrl.Log.Info("waiting for the APIService, which says where the product is installed", "error", last)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(homeRetry):
		}
	}
}

func namespaceOfAPI(ctx context.Context, client dynamic.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, homeTimeout)
	defer cancel()
	service, err := client.Resource(apiServices).Get(ctx, naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read APIService %s: %w", naming.APIServiceName, err)
	}
	namespace, _, err := unstructured.NestedString(service.Object, "spec", "service", "namespace")
	if err != nil || namespace == "" {
		return "", fmt.Errorf("APIService %s names no Service: --system-namespace says where the product is installed", naming.APIServiceName)
	}
	return namespace, nil
}
