// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/controller/valkey/plan"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

const (
	testNamespace = "ns"
	testName      = "v"
	testSet       = "s"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// lab is the controller between a fake Kubernetes API and real servers. In place of the ValkeyNode controller, the kubelets and the agents
// there is nodeWork.
type lab struct {
	t          *testing.T
	binary     valkeytest.Binary
	kube       client.WithWatch
	events     *events.FakeRecorder
	controller *reconciler
	// processes by name of node or Sentinel pod; ports stay when a process is replaced.
	processes map[string]*valkeytest.Process
	ports     map[string]int
	// broken nodes' pods are made and never run.
	broken map[string]bool

	mu     sync.Mutex
	writes []string
	refuse func(what string) error
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{
		t: t, binary: valkeytest.Default(t), events: events.NewFakeRecorder(10000),
		processes: map[string]*valkeytest.Process{}, ports: map[string]int{}, broken: map[string]bool{},
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	l.kube = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().
		WithStatusSubresource(&v1alpha1.Valkey{}, &v1alpha1.ValkeyNode{}, &v1alpha1.ValkeySentinel{}, &corev1.Pod{}).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}).
		WithInterceptorFuncs(l.counting()).Build()
	l.controller = l.newController()
	return l
}

// newController is one that remembers nothing.
func (l *lab) newController() *reconciler {
	r := &reconciler{
		deps: Dependencies{
			Environment: plan.Environment{SystemNamespace: "valkey-system", DNS: boot.DNS{ClusterDomain: "cluster.local"}},
			Valkey:      valkeytest.NewClient(l.t),
		},
		client: l.kube, reader: l.kube, events: l.events, now: time.Now,
		address: func(_, node string) topology.Address { return l.addressOf(node) },
		sentinelAddress: func(set *v1alpha1.ValkeySentinel, index int) topology.Address {
			return l.addressOf(naming.SentinelPod(set.Name, index))
		},
	}
	r.issuance = &issuance.Desk{Cache: l.kube, API: l.kube, Now: time.Now}
	r.routes.client = l.kube
	return r
}

func (l *lab) addressOf(name string) topology.Address {
	if l.ports[name] == 0 {
		l.ports[name] = valkeytest.FreePort(l.t)
	}
	return topology.Address{Host: "127.0.0.1", Port: l.ports[name]}
}

func (l *lab) counting() interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(ctx context.Context, next client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			if err := l.note(fmt.Sprintf("apply %T", config)); err != nil {
				return err
			}
			if err := next.Apply(ctx, config, options...); err != nil {
				return err
			}
			return l.complete(ctx, next)
		},
		SubResourceUpdate: func(ctx context.Context, next client.Client, name string, object client.Object, options ...client.SubResourceUpdateOption) error {
			if err := l.note(fmt.Sprintf("update %s of %T", name, object)); err != nil {
				return err
			}
			return next.SubResource(name).Update(ctx, object, options...)
		},
		Create: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := l.note(fmt.Sprintf("create %T", object)); err != nil {
				return err
			}
			return next.Create(ctx, object, options...)
		},
		Update: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			if err := l.note(fmt.Sprintf("update %T", object)); err != nil {
				return err
			}
			return next.Update(ctx, object, options...)
		},
		Delete: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := l.note(fmt.Sprintf("delete %T %s", object, object.GetName())); err != nil {
				return err
			}
			return next.Delete(ctx, object, options...)
		},
	}
}

// complete does what the API server would to a node: defaults, and a generation for each spec.
func (l *lab) complete(ctx context.Context, raw client.WithWatch) error {
	var nodes v1alpha1.ValkeyNodeList
	if err := raw.List(ctx, &nodes); err != nil {
		return err
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		before := node.DeepCopy()
		v1alpha1.SetObjectDefaults_ValkeyNode(node)
		spec := fmt.Sprintf("%+v", node.Spec)
		if node.Annotations["test/spec"] == spec {
			continue
		}
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations["test/spec"] = spec
		node.Generation++
		if err := raw.Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return err
		}
	}
	return nil
}

func (l *lab) note(what string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		if err := l.refuse(what); err != nil {
			return err
		}
	}
	l.writes = append(l.writes, what)
	return nil
}

// written are the controller's writes since the last call, as far as nobody else wrote.
func (l *lab) written() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	writes := l.writes
	l.writes = nil
	return writes
}

// create makes an object past the count.
func (l *lab) create(object client.Object) {
	l.t.Helper()
	if err := l.kube.Create(l.t.Context(), object); err != nil {
		l.t.Fatal(err)
	}
}

// makeValkey makes the Valkey that the tests are about.
func (l *lab) makeValkey(change func(*v1alpha1.Valkey)) {
	l.t.Helper()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{
		Name: testName, Namespace: testNamespace, UID: "valkey-uid", Generation: 1, Labels: map[string]string{"watch": "yes"}}}
	if change != nil {
		change(valkey)
	}
	v1alpha1.SetObjectDefaults_Valkey(valkey)
	l.create(valkey)
}

func (l *lab) valkey() *v1alpha1.Valkey {
	l.t.Helper()
	valkey := &v1alpha1.Valkey{}
	l.get(testName, valkey)
	return valkey
}

func (l *lab) get(name string, object client.Object) {
	l.t.Helper()
	key := types.NamespacedName{Namespace: testNamespace, Name: name}
	if _, isNamespace := object.(*corev1.Namespace); isNamespace {
		key = types.NamespacedName{Name: testNamespace}
	}
	if err := l.kube.Get(l.t.Context(), key, object); err != nil {
		l.t.Fatalf("get %T %s: %v", object, name, err)
	}
}

// change updates the Valkey's spec.
func (l *lab) change(change func(*v1alpha1.ValkeySpec)) {
	l.t.Helper()
	valkey := l.valkey()
	change(&valkey.Spec)
	valkey.Generation++
	if err := l.kube.Update(l.t.Context(), valkey); err != nil {
		l.t.Fatal(err)
	}
}

var request = ctrl.Request{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testName}}

// pass makes one pass.
func (l *lab) pass() ctrl.Result {
	l.t.Helper()
	result, err := l.controller.Reconcile(l.t.Context(), request)
	if err != nil {
		l.t.Fatalf("pass: %v", err)
	}
	return result
}

// until makes passes, and lets the nodes work, until the check is content.
func (l *lab) until(what string, check func() error) {
	l.t.Helper()
	deadline := time.Now().Add(valkeytest.Patience)
	for {
		l.pass()
		l.nodeWork()
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			status := l.valkey().Status
			l.t.Fatalf("%s: %v\nstatus: %s %s: %s\nconditions: %+v\nmembers: %+v", what, err, status.State, status.Reason, status.Message,
				status.Conditions, status.Members)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (l *lab) untilReady() {
	l.t.Helper()
	l.until("ready", func() error { return l.isState(v1alpha1.StateReady) })
}

func (l *lab) isState(state v1alpha1.State) error {
	if status := l.valkey().Status; status.State != state {
		return fmt.Errorf("state %s (%s: %s)", status.State, status.Reason, status.Message)
	}
	return nil
}

// happened are the reasons of the events so far.
func (l *lab) happened() string {
	var reasons []string
	for {
		select {
		case event := <-l.events.Events:
			reasons = append(reasons, event)
		default:
			return strings.Join(reasons, "\n")
		}
	}
}

func addressFor(address topology.Address) valkeyclient.Address { return valkeyclient.Address(address) }
