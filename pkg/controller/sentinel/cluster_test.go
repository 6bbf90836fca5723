// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	testNamespace = "ns"
	testSet       = "s"
	testSetUID    = "set-uid"
	// quick is the monitors' down-after-milliseconds, so that tests need not wait long.
	quick = "1000"
)

// cluster is real servers and real Sentinels behind a fake Kubernetes API, and the controller between them.
type cluster struct {
	t          *testing.T
	binary     valkeytest.Binary
	kube       client.WithWatch
	events     *events.FakeRecorder
	controller *reconciler
	nodes      map[string]*valkeytest.Process
	sentinels  []*valkeytest.Process
	// seen are the indices that had a pod before: another pod is another process.
	seen map[int]bool
	// forbidden is a kind that the controller has no right to make.
	forbidden string
	// writes counts what the controller writes to the API; wrote says what it was last.
	writes atomic.Int64
	wrote  atomic.Pointer[string]
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func passwordOf(user string) string { return "password-of-" + strings.TrimPrefix(user, "_") }

// startCluster starts as many Sentinels, empty ones, and the objects that a set needs.
func startCluster(t *testing.T, binary valkeytest.Binary, sentinels int) *cluster {
	t.Helper()
	c := &cluster{t: t, binary: binary, nodes: map[string]*valkeytest.Process{}, seen: map[int]bool{}, events: events.NewFakeRecorder(1000)}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	set := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: testSet, Namespace: testNamespace, UID: testSetUID, Generation: 1}}
	set.Spec.Replicas = int32(sentinels)
	set.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: map[string]string{"watch": "yes"}}
	passwords := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: naming.SentinelPasswordsSecret(testSet), Namespace: testNamespace, OwnerReferences: []metav1.OwnerReference{ownerReference(set)},
	}, Data: map[string][]byte{}}
	for _, user := range append(naming.SentinelSystemUsers(), naming.UserExporter) {
		passwords.Data[user] = []byte(passwordOf(user))
	}
	c.kube = fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().
		WithStatusSubresource(&v1alpha1.ValkeySentinel{}, &v1alpha1.Valkey{}).
		WithInterceptorFuncs(c.counting()).
		WithObjects(set, passwords, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: testNamespace}}).Build()
	c.controller = c.newController()
	for range sentinels {
		c.startSentinel()
	}
	return c
}

func (c *cluster) counting() interceptor.Funcs {
	return interceptor.Funcs{
		Apply: func(ctx context.Context, next client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			c.note(config)
			if named, ok := config.(interface{ GetKind() *string }); ok && c.forbidden != "" && *named.GetKind() == c.forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Resource: c.forbidden}, "x", errors.New("no"))
			}
			return next.Apply(ctx, config, options...)
		},
		SubResourceApply: func(ctx context.Context, next client.Client, name string, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			c.note("status")
			return next.SubResource(name).Apply(ctx, config, options...)
		},
		Delete: func(ctx context.Context, next client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			c.note("delete " + object.GetName())
			return next.Delete(ctx, object, options...)
		},
	}
}

func (c *cluster) note(what any) {
	text, err := json.Marshal(what)
	if err != nil {
		c.t.Error(err)
	}
	said := string(text)
	c.writes.Add(1)
	c.wrote.Store(&said)
}

// newController is one that knows nothing yet.
func (c *cluster) newController() *reconciler {
	return &reconciler{
		deps: Dependencies{AgentImage: "agent:1", DNS: boot.DNS{Upstreams: []string{"10.0.0.10"}, ClusterDomain: "cluster.local"},
			SystemNamespace: "valkey-system", Valkey: valkeytest.NewClient(c.t)},
		client: c.kube, reader: c.kube, events: c.events, now: time.Now, places: c,
		issuance: &issuance.Desk{Cache: c.kube, API: c.kube, Now: time.Now},
	}
}

// Node, DialNode and DialSentinel are where the processes are: on loopback, by name for Sentinels.
func (c *cluster) Node(_, node string) boot.Endpoint {
	endpoint := boot.Endpoint{Name: node, Host: "localhost", Port: 1} // nobody listens there
	if process, ok := c.nodes[node]; ok {
		endpoint.Port = process.Address.Port
	}
	return endpoint
}

func (c *cluster) DialNode(pod *corev1.Pod) string {
	return c.nodes[pod.Labels[naming.LabelNode]].Address.String()
}

func (c *cluster) DialSentinel(pod *corev1.Pod) string {
	for i, process := range c.sentinels {
		if naming.SentinelPod(testSet, i) == pod.Name {
			return process.Address.String()
		}
	}
	return ""
}

func (c *cluster) startSentinel() {
	c.t.Helper()
	index, port := len(c.sentinels), valkeytest.FreePort(c.t)
	acl := []string{c.line(valkeyconf.OpenSentinelDefault(), true)}
	for _, user := range append(naming.SentinelSystemUsers(), naming.UserExporter) {
		acl = append(acl, c.line(valkeyconf.SentinelUser(user, valkeyconf.HashPassword(passwordOf(user)))))
	}
	process := valkeytest.StartSentinel(c.t, valkeytest.Options{
		Binary: c.binary, Name: naming.SentinelPod(testSet, index), Port: port, ACL: acl,
		Credentials: valkeyclient.Credentials{Username: naming.UserOperator, Password: passwordOf(naming.UserOperator)},
		Config: []string{
			"sentinel myid " + naming.SentinelID(testSetUID, naming.SentinelPod(testSet, index)),
			"sentinel resolve-hostnames yes", "sentinel announce-hostnames yes",
			"sentinel announce-ip localhost", fmt.Sprintf("sentinel announce-port %d", port),
			"sentinel sentinel-user " + naming.UserPeer, "sentinel sentinel-pass " + passwordOf(naming.UserPeer),
		},
	})
	c.sentinels = append(c.sentinels, process)
}

func (c *cluster) line(user valkeyconf.User, known bool) string {
	c.t.Helper()
	text, err := user.Line()
	if err != nil || !known {
		c.t.Fatalf("user %s: known %v, %v", user.Name, known, err)
	}
	return text
}

// emptySentinel restarts a Sentinel as a new pod would be without boot settings: as it was before it was told anything.
func (c *cluster) emptySentinel(index int) {
	c.t.Helper()
	process := c.sentinels[index]
	file := filepath.Join(process.Dir, "valkey.conf")
	text, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	process.Kill()
	var kept []string
	for line := range strings.SplitSeq(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) > 3 && words[0] == "sentinel" {
			continue // what it knows of monitors
		}
		kept = append(kept, line)
	}
	if err := os.WriteFile(file, []byte(strings.Join(kept, "\n")), 0o600); err != nil {
		c.t.Fatal(err)
	}
	process.Start()
}

// addValkey starts the servers of a Valkey, and makes its objects.
func (c *cluster) addValkey(name string, nodes int, settings map[string]string) {
	c.t.Helper()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: testNamespace, UID: types.UID(name + "-uid"), Labels: map[string]string{"watch": "yes"}}}
	valkey.Spec.Replicas = int32(nodes - 1)
	valkey.Spec.Failover.Mode = v1alpha1.FailoverModeSentinel
	valkey.Spec.Failover.Sentinel = &v1alpha1.SentinelFailoverSpec{Config: map[string]string{"down-after-milliseconds": quick}}
	for key, value := range settings {
		valkey.Spec.Failover.Sentinel.Config[key] = value
	}
	c.create(valkey)
	passwords := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: naming.SystemPasswordsSecret(name), Namespace: testNamespace}, Data: map[string][]byte{}}
	owner := metav1.NewControllerRef(valkey, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkey))
	passwords.OwnerReferences = []metav1.OwnerReference{*owner}
	for _, user := range naming.SystemUsers() {
		passwords.Data[user] = []byte(passwordOf(user))
	}
	c.create(passwords)
	primary := 0
	for i := range nodes {
		primary = c.startNode(name, i, primary)
	}
}

// startNode starts one server, as a replica of the primary's port unless that is 0, and returns the primary's port.
func (c *cluster) startNode(valkey string, index, primary int) int {
	c.t.Helper()
	node, port := naming.NodeName(valkey, index), valkeytest.FreePort(c.t)
	acl := []string{"user default off"}
	for _, user := range naming.SystemUsers() {
		acl = append(acl, c.line(valkeyconf.NodeUser(user, valkeyconf.HashPassword(passwordOf(user)))))
	}
	config := []string{
		"replica-announce-ip localhost", fmt.Sprintf("replica-announce-port %d", port),
		"masteruser " + naming.UserReplication, "masterauth " + passwordOf(naming.UserReplication),
	}
	if primary != 0 {
		config = append(config, fmt.Sprintf("replicaof localhost %d", primary))
	}
	c.nodes[node] = valkeytest.StartServer(c.t, valkeytest.Options{Binary: c.binary, Name: node, Port: port, Config: config, ACL: acl,
		Credentials: valkeyclient.Credentials{Username: naming.UserOperator, Password: passwordOf(naming.UserOperator)}})
	c.create(&v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: node, Namespace: testNamespace}, Spec: v1alpha1.ValkeyNodeSpec{Valkey: valkey}})
	c.create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: naming.NodePod(node), Namespace: testNamespace, Labels: naming.NodeLabels(valkey, node)},
		Status:     corev1.PodStatus{PodIP: "127.0.0.1", Phase: corev1.PodRunning},
	})
	if primary == 0 {
		return port
	}
	return primary
}

func (c *cluster) create(object client.Object) {
	c.t.Helper()
	if err := c.kube.Create(c.t.Context(), object); err != nil {
		c.t.Fatal(err)
	}
}

// pass is one round of the controller, and of a StatefulSet controller whose pods are ready at once.
func (c *cluster) pass() {
	c.t.Helper()
	if _, err := c.controller.Reconcile(c.t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: testNamespace, Name: testSet}}); err != nil {
		c.t.Fatalf("reconcile: %v", err)
	}
	workload := &appsv1.StatefulSet{}
	if err := c.kube.Get(c.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: naming.SentinelWorkload(testSet)}, workload); err != nil {
		return
	}
	isController := true
	for i := range c.sentinels {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: naming.SentinelPod(testSet, i), Namespace: testNamespace, UID: types.UID(fmt.Sprint("pod-", i)),
				Labels: workload.Spec.Template.Labels, Annotations: workload.Spec.Template.Annotations,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: workload.Name, UID: workload.UID, Controller: &isController}},
			},
			Status: corev1.PodStatus{PodIP: "127.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		if i >= int(*workload.Spec.Replicas) {
			_ = c.kube.Delete(c.t.Context(), pod)
			c.sentinels[i].Kill()
			continue
		}
		if err := c.kube.Create(c.t.Context(), pod); err == nil { // else it is there
			if c.seen[i] {
				c.sentinels[i].Kill()
				c.sentinels[i].Start()
			}
			c.seen[i] = true
		}
	}
}

// passUntil runs rounds until check is content.
func (c *cluster) passUntil(what string, check func(ctx context.Context) error) {
	c.t.Helper()
	valkeytest.Eventually(c.t, what, func(ctx context.Context) error {
		c.pass()
		return check(ctx)
	})
}

func (c *cluster) set() *v1alpha1.ValkeySentinel {
	c.t.Helper()
	set := &v1alpha1.ValkeySentinel{}
	if err := c.kube.Get(c.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: testSet}, set); err != nil {
		c.t.Fatal(err)
	}
	return set
}

func (c *cluster) updateValkey(name string, change func(*v1alpha1.Valkey)) {
	c.t.Helper()
	valkey := &v1alpha1.Valkey{}
	if err := c.kube.Get(c.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: name}, valkey); err != nil {
		c.t.Fatal(err)
	}
	change(valkey)
	if err := c.kube.Update(c.t.Context(), valkey); err != nil {
		c.t.Fatal(err)
	}
}

// told are the events so far that have the reason.
func (c *cluster) told(reason string) []string {
	var found []string
	for {
		select {
		case text := <-c.events.Events:
			if strings.Contains(text, " "+reason+" ") {
				found = append(found, text)
			}
		default:
			return found
		}
	}
}

// rewriteACL gives the users that match another password in a server's ACL file.
func (c *cluster) rewriteACL(node string, matches func(user string) bool, password string) {
	c.t.Helper()
	var lines []string
	lines = append(lines, "user default off")
	for _, user := range naming.SystemUsers() {
		hash := valkeyconf.HashPassword("password-of-" + strings.TrimPrefix(user, "_"))
		if matches(user) {
			hash = valkeyconf.HashPassword(password)
		}
		lines = append(lines, c.line(valkeyconf.NodeUser(user, hash)))
	}
	if err := os.WriteFile(filepath.Join(c.nodes[node].Dir, "users.acl"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		c.t.Fatal(err)
	}
}
