// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const (
	testNamespace = "shop"
	testNode      = "cart-0"
	testPodIP     = "10.0.0.1"
	testPassword  = "password-of-the-operator"
)

// cluster is a real server behind a fake Kubernetes API, and the controller between them.
type cluster struct {
	t          *testing.T
	kube       client.WithWatch
	events     *events.FakeRecorder
	controller *reconciler
	server     *valkeytest.Process
	now        time.Time

	mu     sync.Mutex
	writes []string
	// fails lets writes of a kind fail.
	fails map[string]error
	// agentSays is the answer to the readiness probe of a pod that is not ready.
	agentSays string
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	c := &cluster{t: t, events: events.NewFakeRecorder(1000), now: time.Now(), fails: map[string]error{}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c.kube = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().
		WithStatusSubresource(&v1alpha1.ValkeyNode{}, &appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Service{}).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }).
		WithIndex(&corev1.Event{}, "type", func(o client.Object) []string { return []string{o.(*corev1.Event).Type} }).
		WithInterceptorFuncs(c.watching()).
		WithObjects(objects...).Build()
	c.controller = c.newController()
	return c
}

// newController is one that knows nothing yet.
func (c *cluster) newController() *reconciler {
	// The pod's address leads to the server's, and the agent's port to a stub.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if address != net.JoinHostPort(testPodIP, strconv.Itoa(naming.PortValkey)) || c.server == nil {
			return nil, fmt.Errorf("nobody is at %s", address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, c.server.Address.String())
	}
	clients := valkeyclient.New(valkeyclient.Options{Dialer: dial})
	c.t.Cleanup(clients.Close)
	return &reconciler{
		deps: Dependencies{
			AgentImage: "agent:1", DNS: boot.DNS{Upstreams: []string{"10.96.0.10"}, ClusterDomain: "cluster.local"}, Valkey: clients,
		},
		client: c.kube, reader: c.kube, events: c.events, now: func() time.Time { return c.now },
		agents: &http.Client{Transport: agentStub{c}},
	}
}

// agentStub answers for the agent.
type agentStub struct{ c *cluster }

func (a agentStub) RoundTrip(request *http.Request) (*http.Response, error) {
	recorder := newRecorder(http.StatusServiceUnavailable, a.c.agentSays)
	recorder.Request = request
	return recorder, nil
}

// watching notes every write, and lets those fail that should.
func (c *cluster) watching() interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(ctx context.Context, next client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if err := c.note("apply " + kindOf(config)); err != nil {
				return err
			}
			return next.Apply(ctx, config, options...)
		},
		SubResourceApply: func(ctx context.Context, next client.Client, name string, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			if err := c.note("apply " + name); err != nil {
				return err
			}
			return next.SubResource(name).Apply(ctx, config, options...)
		},
		Patch: func(ctx context.Context, next client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := c.note(fmt.Sprintf("patch %T", object)); err != nil {
				return err
			}
			return next.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := c.note(fmt.Sprintf("delete %T", object)); err != nil {
				return err
			}
			return next.Delete(ctx, object, options...)
		},
	}
}

func kindOf(config runtime.ApplyConfiguration) string {
	if named, ok := config.(interface{ GetKind() *string }); ok && named.GetKind() != nil {
		return *named.GetKind()
	}
	return "?"
}

func (c *cluster) note(write string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes = append(c.writes, write)
	return c.fails[write]
}

// written are the writes since the last call.
func (c *cluster) written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes := c.writes
	c.writes = nil
	return writes
}

func (c *cluster) key() types.NamespacedName {
	return types.NamespacedName{Namespace: testNamespace, Name: testNode}
}

// pass makes one pass, a second later than the last.
func (c *cluster) pass() (ctrl.Result, error) {
	c.now = c.now.Add(time.Second)
	return c.controller.Reconcile(context.Background(), ctrl.Request{NamespacedName: c.key()})
}

// passes makes n passes, which must not fail.
func (c *cluster) passes(n int) {
	c.t.Helper()
	for range n {
		if _, err := c.pass(); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) node() *v1alpha1.ValkeyNode {
	c.t.Helper()
	node := &v1alpha1.ValkeyNode{}
	if err := c.kube.Get(context.Background(), c.key(), node); err != nil {
		c.t.Fatal(err)
	}
	return node
}

// change changes the node's spec as its owner would.
func (c *cluster) change(change func(*v1alpha1.ValkeyNodeSpec)) {
	c.t.Helper()
	node := c.node()
	change(&node.Spec)
	node.Generation++
	if err := c.kube.Update(context.Background(), node); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) wantCondition(name string, status metav1.ConditionStatus, reason string) metav1.Condition {
	c.t.Helper()
	condition := meta.FindStatusCondition(c.node().Status.Conditions, name)
	if condition == nil {
		c.t.Fatalf("no condition %s", name)
	}
	if condition.Status != status || condition.Reason != reason {
		c.t.Errorf("%s = %s (%s: %s), want %s (%s)", name, condition.Status, condition.Reason, condition.Message, status, reason)
	}
	return *condition
}

// told are the events since the last call.
func (c *cluster) told() string {
	var told []string
	for {
		select {
		case event := <-c.events.Events:
			told = append(told, event)
		default:
			return strings.Join(told, "\n")
		}
	}
}

// startPod does what the StatefulSet's controller and the kubelet would.
func (c *cluster) startPod(ready bool) {
	c.t.Helper()
	ctx := context.Background()
	set := &appsv1.StatefulSet{}
	if err := c.kube.Get(ctx, types.NamespacedName{Namespace: testNamespace, Name: naming.NodeWorkload(testNode)}, set); err != nil {
		c.t.Fatal(err)
	}
	set.Status.ObservedGeneration = set.Generation
	if err := c.kube.Status().Update(ctx, set); err != nil {
		c.t.Fatal(err)
	}
	isController := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: naming.NodePod(testNode), UID: types.UID(fmt.Sprintf("pod-%d", c.now.UnixNano())),
		Labels: set.Spec.Template.Labels, Annotations: set.Spec.Template.Annotations, CreationTimestamp: metav1.NewTime(c.now),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: &isController}},
	}}
	if err := c.kube.Create(ctx, pod); err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
	pod.Spec.NodeName = "node-1"
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, testPodIP
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.ContainerServer, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	if ready {
		pod.Status.Conditions[0].Status = corev1.ConditionTrue
	}
	if err := c.kube.Status().Update(ctx, pod); err != nil {
		c.t.Fatal(err)
	}
}

// writeACL replaces the file that the server loads, as the kubelet would in the end.
func (c *cluster) writeACL(text string) {
	c.t.Helper()
	path := aclPath(c.t, c.server)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func aclPath(t *testing.T, server *valkeytest.Process) string {
	t.Helper()
	settings, err := server.Node().ConfigGet(t.Context(), "aclfile")
	if err != nil || settings["aclfile"] == "" {
		t.Fatalf("aclfile %q, %v", settings["aclfile"], err)
	}
	if filepath.IsAbs(settings["aclfile"]) {
		return settings["aclfile"]
	}
	return filepath.Join(server.Dir, settings["aclfile"])
}
