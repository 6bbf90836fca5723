// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/servingcert"
)

// TestTheControllerStartsBeforeItsAPIAndWithoutARightOnBudgets: it waits, healthy, for an API that comes later; makes what is asked for with the
// rights of the manifests, less that on budgets; and then writes nothing more.
func TestTheControllerStartsBeforeItsAPIAndWithoutARightOnBudgets(t *testing.T) {
	c := startCluster(t)
	c.install(t, "poddisruptionbudgets")
	options := c.controllerOptions(t)
	options.ServingCert = false // nobody serves with it here
	ended := run(t, options)
	eventually(t, ended, "health", func() error { return isHealthy(options.HealthAddress) })
	select {
	case err := <-ended:
		t.Fatalf("the controller ended without its API: %v", err)
	case <-time.After(5 * time.Second): // longer than it asks again
	}
	if err := isHealthy(options.HealthAddress); err != nil {
		t.Fatal(err)
	}

	c.serveKinds(t)
	node := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "solo"}}
	c.createNode(t, "solo", map[string]any{"image": v1alpha1.DefaultImage})
	children := []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.ConfigMap{}}
	names := []string{naming.NodeWorkload("solo"), naming.NodeWorkload("solo"), naming.NodeConfigMap("solo")}
	eventually(t, ended, "children and status", func() error {
		for i, child := range children {
			if err := c.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: names[i]}, child); err != nil {
				return err
			}
		}
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(node.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Message != "the pod is being made" { // there is nobody here who makes it
			return fmt.Errorf("status %+v", node.Status)
		}
		return nil
	})

	// Passes go on, and change nothing.
	before := versions(t, c, node, children)
	time.Sleep(8 * time.Second)
	if after := versions(t, c, node, children); before != after {
		t.Errorf("written while idle: %s, then %s", before, after)
	}

	// An object of somebody else is left alone, and told of.
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: naming.NodeWorkload("taken")}}
	foreign.Spec.Ports = []corev1.ServicePort{{Port: 1}}
	if err := c.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	c.createNode(t, "taken", map[string]any{})
	eventually(t, ended, "an event about the foreign object", func() error {
		var events eventsv1.EventList
		if err := c.client.List(t.Context(), &events, client.InNamespace("default")); err != nil {
			return err
		}
		for i := range events.Items {
			if events.Items[i].Regarding.Name == "taken" && events.Items[i].Reason == v1alpha1.EventForeignObject {
				return nil
			}
		}
		return fmt.Errorf("%d events", len(events.Items))
	})
	version := foreign.ResourceVersion
	if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil {
		t.Fatal(err)
	}
	if foreign.ResourceVersion != version {
		t.Error("somebody else's Service was changed")
	}
}

func versions(t *testing.T, c *cluster, node *v1alpha1.ValkeyNode, children []client.Object) string {
	t.Helper()
	all := ""
	for _, object := range append([]client.Object{node}, children...) {
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintf("%T %s; ", object, object.GetResourceVersion())
	}
	return all
}

// TestSeveralKeepersOnARealAPI: the concurrency that a fake cannot show, and an apply that leaves the rest of the APIService alone.
func TestSeveralKeepersOnARealAPI(t *testing.T) {
	c := startCluster(t)
	c.apply(t, "namespace/namespace.yaml", everything)
	c.apply(t, "apiserver/apiservice.yaml", everything)
	kube, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	dynamicClient, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	keeper := &servingcert.Keeper{Kube: kube, Dynamic: dynamicClient, Namespace: naming.SystemNamespace, ClusterDomain: "cluster.local"}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 4 {
				_ = keeper.Look(context.Background()) // all but one lose the race, and look again
			}
		})
	}
	all.Wait()
	if err := keeper.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret, err := kube.CoreV1().Secrets(naming.SystemNamespace).Get(t.Context(), naming.APIServerCertSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	services := dynamicClient.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	service, err := services.Get(t.Context(), naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(service.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	if spec["caBundle"] == "" || spec["versionPriority"] != int64(15) {
		t.Errorf("spec = %v", spec)
	}
	version := secret.ResourceVersion + service.GetResourceVersion()
	if err := keeper.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret, err = kube.CoreV1().Secrets(naming.SystemNamespace).Get(t.Context(), naming.APIServerCertSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if service, err = services.Get(t.Context(), naming.APIServiceName, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if version != secret.ResourceVersion+service.GetResourceVersion() {
		t.Error("a look at which nothing is to be done writes")
	}
}
