// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2eha

package ha

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// forward opens a way to a pod's port, until the function that it returns is called or the test ends, and returns the local address.
func forward(t *testing.T, pod string, port int) (address string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, "kubectl", "-n", system, "port-forward", "pod/"+pod, fmt.Sprintf(":%d", port))
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() {
		cancel()
		_ = command.Wait()
	})
	t.Cleanup(end)
	local := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if found := local.FindString(lines.Text()); found != "" {
			return found, end
		}
	}
	t.Fatalf("no way to %s", pod)
	return "", end
}

// token is that of a ServiceAccount that may read everything.
func token(t *testing.T, env *framework.Env, namespace string) string {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "default"}},
	}
	if _, err := env.Kube.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Kube.RbacV1().ClusterRoleBindings().Delete(context.Background(), binding.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	var made *authenticationv1.TokenRequest
	framework.Eventually(t, 30*time.Second, "a token", func() (err error) {
		made, err = env.Kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	})
	return made.Status.Token
}

// Scenario P14: every API server answers the same.
func TestP14APIServersAnswerTheSame(t *testing.T) {
	env := framework.Connect(t)
	namespace := env.Namespace(t, "same")
	kept(t, env, namespace)
	bearer := token(t, env, namespace)
	servers := map[string]rest.Interface{}
	var running []corev1.Pod
	// One that an earlier test cut off may still be on its way out.
	framework.Eventually(t, 2*time.Minute, "there are three API servers", func() error {
		if running = pods(t, env, apiServer); len(running) != 3 {
			return fmt.Errorf("there are %d", len(running))
		}
		for i := range running {
			if !framework.PodReady(&running[i]) {
				return fmt.Errorf("%s is not ready", running[i].Name)
			}
		}
		return nil
	})
	for _, pod := range running {
		address, _ := forward(t, pod.Name, 8443)
		config := &rest.Config{
			Host: "https://" + address, BearerToken: bearer, QPS: -1,
			TLSClientConfig: rest.TLSClientConfig{Insecure: true},
		}
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		servers[pod.Name] = client
	}
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	list := "/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys"
	for _, question := range []struct{ name, path, accept string }{
		{"a list", list, "application/json"},
		{"a list in protobuf", list, "application/vnd.kubernetes.protobuf"},
		{"a table", list, table},
		{"OpenAPI v2", "/openapi/v2", "application/json"},
		{"OpenAPI v3", "/openapi/v3/apis/valkey.io/v1alpha1", "application/json"},
		{"discovery", "/apis/valkey.io/v1alpha1", "application/json"},
	} {
		t.Run(question.name, func(t *testing.T) {
			// The controller may write status between two of the questions; the same question a moment later settles it.
			framework.Eventually(t, 20*time.Second, "the same answer", func() error {
				answers := map[string]int{}
				for name, server := range servers {
					body, err := server.Get().AbsPath(question.path).SetHeader("Accept", question.accept).Do(t.Context()).Raw()
					if err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
					answers[fmt.Sprintf("%x, %d bytes", sha256.Sum256(body), len(body))]++
				}
				if len(answers) != 1 {
					return fmt.Errorf("%v", answers)
				}
				return nil
			})
		})
	}
}
