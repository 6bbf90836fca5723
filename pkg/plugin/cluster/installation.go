// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

// APIServices is the resource in which the API server is made known.
var APIServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// Installation is what runs the product in a cluster.
type Installation struct {
	Kubernetes string `json:"kubernetes,omitempty"`
	// Namespace that the product is installed in.
	Namespace string `json:"namespace"`
	// Available is what the cluster says about our API, and why.
	Available string `json:"available,omitempty"`
	// Images by Deployment.
	Images map[string]string `json:"images,omitempty"`
	// Unknown says what could not be asked, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Installation finds out what runs the product. What the caller may not see is in Unknown.
func (c *Clients) Installation(ctx context.Context) Installation {
	found := Installation{Namespace: naming.SystemNamespace, Images: map[string]string{}}
	note := func(what string, err error) bool {
		if err != nil {
			found.Unknown = append(found.Unknown, what+": "+err.Error())
		}
		return err == nil
	}
	if version, err := c.Kube.Discovery().ServerVersion(); note("version of Kubernetes", err) {
		found.Kubernetes = version.GitVersion
	}
	client, err := dynamic.NewForConfig(c.Config)
	if note("APIService", err) {
		service, err := client.Resource(APIServices).Get(ctx, naming.APIServiceName, metav1.GetOptions{})
		if note("APIService", err) {
			if namespace, _, _ := unstructured.NestedString(service.Object, "spec", "service", "namespace"); namespace != "" {
				found.Namespace = namespace
			}
			found.Available = availability(service)
		}
	}
	deployments, err := c.Kube.AppsV1().Deployments(found.Namespace).List(ctx, metav1.ListOptions{})
	if note("Deployments of namespace "+found.Namespace, err) {
		for i := range deployments.Items {
			d := &deployments.Items[i]
			for _, container := range d.Spec.Template.Spec.Containers {
				found.Images[d.Name] = container.Image
			}
		}
	}
	return found
}

func availability(service *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == "Available" {
			status, _ := condition["status"].(string)
			message, _ := condition["message"].(string)
			if status == "True" || message == "" {
				return status
			}
			return status + ": " + message
		}
	}
	return ""
}
