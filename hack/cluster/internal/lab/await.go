// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

const (
	// patience is how long one condition is waited for.
	patience = 4 * time.Minute
	// glance is the time between two looks.
	glance = 300 * time.Millisecond
)

//go:embed manifests/*.yaml
var manifests embed.FS

// condition returns nil once it holds, and otherwise what is missing.
type condition func(ctx context.Context, client kubernetes.Interface) error

func (l *Lab) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.Timeout = 10 * time.Second
	return kubernetes.NewForConfig(config)
}

// await looks until the condition holds, and says at the end what was still missing.
func (l *Lab) await(ctx context.Context, holds condition) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		missing := holds(ctx, client)
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", missing, ctx.Err())
		case <-time.After(glance):
		}
	}
}

func (l *Lab) waitForServer(ctx context.Context) error {
	return l.await(ctx, func(ctx context.Context, client kubernetes.Interface) error {
		var status int
		result := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&status)
		if status != http.StatusOK {
			return fmt.Errorf("kube-apiserver is not ready (status %d): %w", status, errors.Join(result.Error()))
		}
		return nil
	})
}

func registered(nodes []plan.Node) condition {
	return func(ctx context.Context, client kubernetes.Interface) error {
		for _, node := range nodes {
			if _, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err != nil {
				return fmt.Errorf("%s is not registered: %w", node.Name, err)
			}
		}
		return nil
	}
}

func ready(nodes []plan.Node) condition {
	return func(ctx context.Context, client kubernetes.Interface) error {
		for _, node := range nodes {
			object, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
			if err != nil {
				return fmt.Errorf("look at %s: %w", node.Name, err)
			}
			if !nodeReady(object) {
				return fmt.Errorf("%s is not Ready", node.Name)
			}
			if len(object.Spec.Taints) > 0 {
				return fmt.Errorf("%s still has the taint %s", node.Name, object.Spec.Taints[0].Key)
			}
		}
		return nil
	}
}

// readyAgain holds once a node has said after a moment that it is Ready: what it said before it was lost stays written
// for a while.
func readyAgain(node plan.Node, after time.Time) condition {
	return func(ctx context.Context, client kubernetes.Interface) error {
		object, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("look at %s: %w", node.Name, err)
		}
		for _, c := range object.Status.Conditions {
			// The time in the object has no fractions of a second.
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && c.LastHeartbeatTime.After(after) {
				return nil
			}
		}
		return fmt.Errorf("%s has not said again that it is Ready", node.Name)
	}
}

func nodeReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func dnsAvailable(ctx context.Context, client kubernetes.Interface) error {
	deployment, err := client.AppsV1().Deployments("kube-system").Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("look at coredns: %w", err)
	}
	if deployment.Spec.Replicas == nil || deployment.Status.AvailableReplicas < *deployment.Spec.Replicas {
		return fmt.Errorf("%d pods of coredns are available", deployment.Status.AvailableReplicas)
	}
	return nil
}

// setting is what a variable in a manifest stands for.
func (l *Lab) setting(name string) string {
	return map[string]string{
		"DOMAIN": l.cluster.Domain, "DNS": l.cluster.DNSService(), "REVERSE": strings.Join(l.cluster.ReverseZones(), " "),
	}[name]
}

// applyManifests applies what is in every cluster. Server-side apply changes nothing that is as it should be.
func (l *Lab) applyManifests(ctx context.Context) error {
	entries, err := manifests.ReadDir("manifests")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		content, err := manifests.ReadFile("manifests/" + entry.Name())
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, l.cache.Kubernetes("kubectl"), "--kubeconfig", l.Kubeconfig(), "apply", "--server-side",
			"--force-conflicts", "--field-manager=cluster", "-f", "-")
		cmd.Stdin = strings.NewReader(os.Expand(string(content), l.setting))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apply %s: %w: %s", entry.Name(), err, out)
		}
	}
	return nil
}
