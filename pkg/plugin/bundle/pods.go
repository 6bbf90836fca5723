// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"context"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
)

// system adds the product's own namespace.
func (c *collector) system(ctx context.Context, namespace string) {
	c.list(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, namespace, "", "system/deployments.yaml", nil)
	c.list(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, namespace, "", "system/statefulsets.yaml", nil)
	c.events(ctx, namespace, "system/events.yaml", nil)
	c.pods(ctx, namespace, "system/pods", nil, false)
	c.options.Tell("system/apiservice.yaml")
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	service, err := c.dynamic.Resource(cluster.APIServices).Get(ctx, naming.APIServiceName, metav1.GetOptions{})
	if err != nil {
		c.into.lacks("system/apiservice.yaml", err)
		return
	}
	c.into.object("system/apiservice.yaml", service)
}

// pods adds the pods of a namespace that have these labels, their logs, and with agents what their agents say.
func (c *collector) pods(ctx context.Context, namespace, folder string, having labels.Set, agents bool) {
	asking, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	list, err := c.Kube.CoreV1().Pods(namespace).List(asking, metav1.ListOptions{LabelSelector: having.String()})
	if err != nil {
		c.into.lacks(folder, err)
		return
	}
	for i := range list.Items {
		pod := &list.Items[i]
		pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		at := folder + "/" + pod.Name + "/"
		c.options.Tell(at)
		c.into.object(at+"pod.yaml", pod)
		if agents && pod.Status.Phase == corev1.PodRunning {
			c.agent(ctx, pod.Name, at+"bootz.json")
		}
		for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if status.State.Waiting == nil || status.RestartCount > 0 {
				c.log(ctx, pod, status.Name, at+status.Name+".log", false)
			}
			if status.RestartCount > 0 {
				c.log(ctx, pod, status.Name, at+status.Name+".previous.log", true)
			}
		}
	}
}

func (c *collector) agent(ctx context.Context, pod, file string) {
	text, err := c.BootText(ctx, pod)
	if err != nil {
		c.into.lacks(file, err)
		return
	}
	c.into.text(file, text)
}

func (c *collector) log(ctx context.Context, pod *corev1.Pod, container, file string, previous bool) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	stream, err := c.Kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, Timestamps: true, TailLines: &c.options.Lines, LimitBytes: &c.options.Bytes,
	}).Stream(ctx)
	if err != nil {
		c.into.lacks(file, err)
		return
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, c.options.Bytes))
	if err != nil {
		c.into.lacks(file, err)
	}
	if len(text) > 0 {
		c.into.text(file, text)
	}
}
