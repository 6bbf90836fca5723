//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/servingcert"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// P4: kube-apiserver is restarted while no API server of ours runs. It becomes ready, and serves everything else.
func TestP4KubeAPIServerRestartsWithoutUs(t *testing.T) {
	e := framework.Connect(t)
	e.ScaleAPIServer(t, 0)
	framework.Cluster(t, "restart", "kube-apiserver")
	framework.Eventually(t, time.Minute, "kube-apiserver is ready", func() error {
		return e.Kube.Discovery().RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Error()
	})
	e.Namespace(t, "unrelated")
	if err := listOurs(e); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("while nobody serves it a list is answered with: %v", err)
	}
	e.ScaleAPIServer(t, 1)
}

func listOurs(e *framework.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return e.Valkey.ValkeyV1alpha1().RESTClient().Get().Resource("valkeys").MaxRetries(0).Do(ctx).Error()
}

// P5: without its right in kube-system the API server says what it lacks, and clients are not told 401.
func TestP5WithoutTheRightInKubeSystem(t *testing.T) {
	e := framework.Connect(t)
	bindings := e.Kube.RbacV1().RoleBindings(metav1.NamespaceSystem)
	binding, err := bindings.Get(t.Context(), "valkey-apiserver-authentication-reader", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	binding.ResourceVersion, binding.UID = "", ""
	restore := sync.OnceFunc(func() {
		if _, err := bindings.Create(context.WithoutCancel(t.Context()), binding, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	if err := bindings.Delete(t.Context(), binding.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	framework.Kubectl(t, "delete", "pod", "-n", naming.SystemNamespace, "-l", "app.kubernetes.io/name=valkey-apiserver")
	framework.Eventually(t, time.Minute, "its log says what is missing", func() error {
		log, err := framework.TryKubectl(t, "", "logs", "-n", naming.SystemNamespace, "-l", "app.kubernetes.io/name=valkey-apiserver", "--tail=-1")
		if err == nil && !strings.Contains(log, `configmaps \"extension-apiserver-authentication\" is forbidden`) {
			err = errors.New(log)
		}
		return err
	})
	var status apierrors.APIStatus
	if err := listOurs(e); !errors.As(err, &status) || status.Status().Code != http.StatusServiceUnavailable {
		t.Errorf("clients are told: %v", err)
	}
	restore()
	framework.Eventually(t, 2*time.Minute, "the API is served", func() error { return listOurs(e) })
}

// P5: nothing depends on the name of the namespace in which the product is installed.
func TestP5InAnotherNamespace(t *testing.T) {
	e := framework.Connect(t)
	const other = "databases"
	install := func(namespace string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "../../hack/deploy.sh", args...)
		cmd.Env = append(cmd.Environ(), "NAMESPACE="+namespace)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("deploy.sh %v in %s: %v\n%s", args, namespace, err, out)
		}
	}
	install(naming.SystemNamespace, "remove")
	t.Cleanup(func() {
		install(other, "remove")
		framework.Kubectl(t, "delete", "namespace", other)
		install(naming.SystemNamespace)
		framework.Eventually(t, time.Minute, "the API is served as before", func() error { return listOurs(e) })
	})
	install(other)
	t.Run("a Valkey", func(t *testing.T) {
		s := e.Start(t, e.Namespace(t, "elsewhere"), framework.Options{Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator})
		s.Failover(t, v1alpha1.FailoverRequestSpec{})
		s.WaitReady(t, time.Minute)
	})
}

// P7: the CA and the certificate of the API server are replaced under requests and a watch.
func TestP7TheCertificateIsReplaced(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "rotation")
	valkeys := e.Valkey.ValkeyV1alpha1().Valkeys(ns)
	made, err := valkeys.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := valkeys.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	asked := framework.NewTraffic(t, e.Config, ns, "kept", framework.TrafficOptions{Writes: true, Clients: 2})
	before := servedCertificate(t)
	if _, err := e.Kube.CoreV1().Secrets(naming.SystemNamespace).Patch(t.Context(), naming.APIServerCertSecret, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"`+servingcert.AnnotationRotate+`":"now"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	// The new CA is trusted for a minute before it is used, and the kubelet looks at a Secret once a minute.
	framework.Eventually(t, 5*time.Minute, "another certificate is served", func() error {
		if now := servedCertificate(t); now.Equal(before) {
			return errors.New("it is the old one")
		}
		return nil
	})
	answered := asked.Answered()
	framework.Eventually(t, time.Minute, "requests with the new certificate", func() error {
		if more := asked.Answered() - answered; more < 200 {
			return fmt.Errorf("%d", more)
		}
		return nil
	})
	if refused := asked.End(t); refused > 0 {
		t.Errorf("%d requests were refused", refused)
	}
	last, err := valkeys.Patch(t.Context(), "kept", types.MergePatchType, []byte(`{"metadata":{"labels":{"last":"yes"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expectLast(t, watcher, last)
}

// expectLast reads a watch up to the last change: it was never broken.
func expectLast(t *testing.T, watcher watch.Interface, last *v1alpha1.Valkey) {
	t.Helper()
	for {
		select {
		case event, isOpen := <-watcher.ResultChan():
			object, isValkey := event.Object.(*v1alpha1.Valkey)
			if !isOpen || !isValkey {
				t.Fatalf("the watch did not last: %v", event)
			}
			if object.ResourceVersion == last.ResourceVersion || object.Labels["last"] == "yes" {
				return
			}
		case <-time.After(30 * time.Second):
			t.Fatal("the watch does not show the last change")
		}
	}
}

// servedCertificate is the certificate that the API server's process shows now.
func servedCertificate(t *testing.T) *x509.Certificate {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
	defer cancel()
	forward := exec.CommandContext(ctx, "kubectl", "port-forward", "-n", naming.SystemNamespace, "service/valkey-apiserver", ":443")
	output, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = forward.Wait() // it was ended
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	port := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if err != nil || port == nil {
		t.Fatalf("port-forward: %v %q", err, line)
	}
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // what is shown is looked at, nothing is sent
	connection, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+port[1])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
}
