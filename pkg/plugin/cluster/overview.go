// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"golang.org/x/sync/errgroup"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Overview is all there is to say about a Valkey at one moment. What could not be asked is empty, and said so in Unknown.
type Overview struct {
	Valkey *v1alpha1.Valkey `json:"valkey"`
	// Replication is what the members and the Sentinels say.
	Replication *v1alpha1.Replication `json:"replication,omitempty"`
	// Monitor is the Valkey's, as its Sentinels hold it.
	Monitor *v1alpha1.Monitor `json:"monitor,omitempty"`
	// Pods of the members and of the Sentinels.
	Pods []Pod `json:"pods,omitempty"`
	// Unknown says what could not be asked, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// Pod is what matters of one.
type Pod struct {
	Name string `json:"name"`
	// Node is the ValkeyNode; empty for a Sentinel's.
	Node string `json:"node,omitempty"`
	// Machine is the Kubernetes node that it runs on.
	Machine string `json:"machine,omitempty"`
	// Phase is the pod's, or why its container does not run.
	Phase    string `json:"phase"`
	Ready    bool   `json:"ready"`
	Restarts int32  `json:"restarts"`
}

// Overview asks for everything at once. It fails only if the Valkey cannot be read.
func (c *Clients) Overview(ctx context.Context, name string) (*Overview, error) {
	valkey, err := c.Valkey(ctx, name)
	if err != nil {
		return nil, err
	}
	seen := &Overview{Valkey: valkey}
	set := ""
	if monitoring := valkey.Status.Monitoring; monitoring != nil {
		set = monitoring.Sentinel
	}
	var replication, monitor, pods error
	var asked errgroup.Group
	asked.Go(func() error {
		seen.Replication, replication = c.Replication(ctx, name)
		return nil
	})
	if set != "" {
		asked.Go(func() error {
			seen.Monitor, monitor = c.monitorOf(ctx, set, name)
			return nil
		})
	}
	asked.Go(func() error {
		seen.Pods, pods = c.podsOf(ctx, name, set)
		return nil
	})
	_ = asked.Wait()
	seen.note("replication", replication)
	seen.note("monitors", monitor)
	seen.note("pods", pods)
	return seen, ctx.Err()
}

func (o *Overview) note(what string, err error) {
	if err != nil {
		o.Unknown = append(o.Unknown, what+": "+err.Error())
	}
}

// monitorOf is that of a Valkey in a set; nil if the set has none.
func (c *Clients) monitorOf(ctx context.Context, set, valkey string) (*v1alpha1.Monitor, error) {
	list, err := c.Monitors(ctx, set)
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if list.Items[i].Valkey == valkey {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// podsOf are those of a Valkey and of the set that monitors it, if any.
func (c *Clients) podsOf(ctx context.Context, valkey, set string) ([]Pod, error) {
	pods, err := c.pods(ctx, naming.ValkeySelector(valkey))
	if err != nil || set == "" {
		return pods, err
	}
	sentinels, err := c.pods(ctx, naming.SentinelSelector(set))
	return append(pods, sentinels...), err
}

func (c *Clients) pods(ctx context.Context, selector map[string]string) ([]Pod, error) {
	list, err := c.Kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()})
	if err != nil {
		return nil, err
	}
	pods := make([]Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, podOf(&list.Items[i]))
	}
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods, nil
}

func podOf(pod *corev1.Pod) Pod {
	seen := Pod{Name: pod.Name, Node: pod.Labels[naming.LabelNode], Machine: pod.Spec.NodeName, Phase: string(pod.Status.Phase)}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			seen.Ready = condition.Status == corev1.ConditionTrue
		}
	}
	for _, container := range pod.Status.ContainerStatuses {
		seen.Restarts += container.RestartCount
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "" {
			seen.Phase = waiting.Reason
		}
	}
	if pod.DeletionTimestamp != nil {
		seen.Phase = "Terminating"
	}
	return seen
}

// Primary is the node that is primary: by what the members say now, or where nobody could be asked by what is on record.
func (c *Clients) Primary(ctx context.Context, valkey *v1alpha1.Valkey) string {
	if seen, err := c.Replication(ctx, valkey.Name); err == nil && seen.Primary != "" {
		return seen.Primary
	}
	return valkey.Status.Primary
}

// PodOfNode is the pod that runs a node of a Valkey. A pod that is going away is taken only where there is no other.
func (c *Clients) PodOfNode(ctx context.Context, node string) (string, error) {
	selector := labels.SelectorFromSet(naming.NodeSelector(node)).String()
	list, err := c.Kube.CoreV1().Pods(c.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if apierrors.IsForbidden(err) {
		return naming.NodePod(node), nil // as it is called unless the node is a Deployment's
	}
	if err != nil {
		return "", err
	}
	found := ""
	for i := range list.Items {
		if found == "" || list.Items[i].DeletionTimestamp == nil {
			found = list.Items[i].Name
		}
	}
	if found == "" {
		return "", apierrors.NewNotFound(corev1.Resource("pods"), "of node "+node)
	}
	return found, nil
}
