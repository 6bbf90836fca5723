// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

const homeTimeout = 10 * time.Second

// home is the namespace that the product is installed in: where the API server is, whose objects all controllers look after. The lease of the
// one that acts is kept there and nowhere else, so that two never act at once, from whatever namespace they run in.
func home(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("make a client: %w", err)
	}
	namespace, err := namespaceOfAPI(ctx, client)
	if apierrors.IsNotFound(err) {
		ctrl.Log.Info("there is no APIService yet to say where the product is installed", "assumed", naming.SystemNamespace)
		return naming.SystemNamespace, nil
	}
	return namespace, err
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
