// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// Env is the cluster under test.
type Env struct {
	Config *rest.Config
	Kube   kubernetes.Interface
	Valkey versioned.Interface
	// Domain is the cluster's DNS domain.
	Domain string
}

var connect = sync.OnceValues(func() (*Env, error) {
	path := os.Getenv("KUBECONFIG")
	if path == "" {
		return nil, fmt.Errorf("KUBECONFIG is not set: run the end-to-end tests with make e2e")
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = -1, 0
	config.WarningHandler = rest.NoWarnings{}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	valkey, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	domain, err := clusterDomain(kube)
	return &Env{Config: config, Kube: kube, Valkey: valkey, Domain: domain}, err
})

// clusterDomain asks the kubelets what they tell their pods.
func clusterDomain(kube kubernetes.Interface) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	failure := fmt.Errorf("there are no nodes")
	for _, node := range nodes.Items {
		var told struct {
			KubeletConfig struct{ ClusterDomain string }
		}
		var body []byte
		if body, failure = kube.CoreV1().RESTClient().Get().AbsPath("/api/v1/nodes/" + node.Name + "/proxy/configz").Do(ctx).Raw(); failure != nil {
			continue
		}
		if failure = json.Unmarshal(body, &told); failure == nil && told.KubeletConfig.ClusterDomain != "" {
			return told.KubeletConfig.ClusterDomain, nil
		}
	}
	return "", fmt.Errorf("no kubelet says what the cluster's DNS domain is: %w", failure)
}

// Connect is the cluster that $KUBECONFIG names.
func Connect(t *testing.T) *Env {
	t.Helper()
	env, err := connect()
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// Namespace makes a namespace that enforces the "restricted" Pod Security Standard, and deletes it after the test.
func (e *Env) Namespace(t *testing.T, name string) string {
	t.Helper()
	ctx := t.Context()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	made, err := e.Kube.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			e.dump(t, made.Name)
		}
		e.DeleteNamespace(t, made.Name, 2*time.Minute)
	})
	return made.Name
}

// DeleteNamespace deletes a namespace and waits until it is gone.
func (e *Env) DeleteNamespace(t *testing.T, name string, patience time.Duration) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	err := e.Kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
		return
	}
	Eventually(t, patience, "namespace "+name+" is gone", func() error {
		ns, err := e.Kube.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("still there: %v", ns.Status.Conditions)
		}
		return err
	})
}

// unremarkable is how long something may take before what it waited for is logged.
const unremarkable = 5 * time.Second

// Eventually waits until check has nothing to complain about; what says what is waited for.
func Eventually(t *testing.T, patience time.Duration, what string, check func() error) {
	t.Helper()
	begin := time.Now()
	var before string
	for {
		err := check()
		if err == nil {
			t.Logf("%s after %s%s", what, time.Since(begin).Round(100*time.Millisecond), before)
			return
		}
		if time.Since(begin) > unremarkable {
			before = fmt.Sprintf("; the last that kept it waiting: %.300s", err)
		}
		if time.Since(begin) > patience {
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// Kubectl runs kubectl and returns what it printed; a failure ends the test.
func Kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := TryKubectl(t, "", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TryKubectl runs kubectl with an input and returns what it printed.
func TryKubectl(t *testing.T, input string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// Apply applies a manifest in a namespace.
func Apply(t *testing.T, namespace, manifest string) {
	t.Helper()
	if _, err := TryKubectl(t, manifest, "apply", "-n", namespace, "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// dump prints what a person would look at first.
func (e *Env) dump(t *testing.T, namespace string) {
	for _, args := range [][]string{
		{"get", "valkeys,valkeysentinels,valkeynodes", "-n", namespace, "-o", "wide"},
		{"get", "pods,statefulsets,services,endpointslices,pvc", "-n", namespace, "-o", "wide"},
		{"get", "valkeys,valkeysentinels", "-n", namespace, "-o", "jsonpath={range .items[*]}{.kind}/{.metadata.name}{\"\\n\"}{range .status.conditions[*]}  {.type}={.status} {.reason}: {.message}{\"\\n\"}{end}{end}"},
		{"get", "events", "-n", namespace, "--sort-by=.lastTimestamp"},
		{"logs", "-n", namespace, "-l", "app.kubernetes.io/managed-by=valkey-controller", "--all-containers", "--prefix", "--tail=40", "--ignore-errors"},
		{"logs", "-n", "valkey-system", "-l", "app.kubernetes.io/name=valkey-controller", "--tail=80"},
		{"logs", "-n", "valkey-system", "-l", "app.kubernetes.io/name=valkey-apiserver", "--tail=20"},
	} {
		out, err := TryKubectl(t, "", args...)
		t.Logf("$ kubectl %s\n%s%v", strings.Join(args, " "), out, err)
	}
}
