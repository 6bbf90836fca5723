// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func newRecorder(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}}
}

func nodeOf(spec v1alpha1.ValkeyNodeSpec) *v1alpha1.ValkeyNode {
	return &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: testNode, UID: "uid", Generation: 1}, Spec: spec}
}

func secretOf(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}, StringData: data, Data: bytesOf(data)}
}

func bytesOf(data map[string]string) map[string][]byte {
	bytes := map[string][]byte{}
	for key, value := range data {
		bytes[key] = []byte(value)
	}
	return bytes
}

func configMapOf(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: name}}
}

// withUsers is a node of a Valkey with an ACL file, and the objects that it names. The file has the operator and what is given.
func withUsers(t *testing.T, users ...v1alpha1.UserSpec) (objects []client.Object, file string) {
	t.Helper()
	acl := aclFile(t, users...)
	node := nodeOf(v1alpha1.ValkeyNodeSpec{
		Valkey: "cart", ServerConfigMapName: "valkey-cart", UsersACLSecretName: "internal-cart-acl", SystemPasswordsSecretName: "internal-cart-system-passwords",
	})
	return []client.Object{
		node, configMapOf("valkey-cart"),
		secretOf("internal-cart-acl", map[string]string{naming.KeyACL: acl}),
		secretOf("internal-cart-system-passwords", map[string]string{naming.UserOperator: testPassword}),
	}, acl
}

// aclFile is what the Valkey's controller would write.
func aclFile(t *testing.T, users ...v1alpha1.UserSpec) string {
	t.Helper()
	passwords := map[string]string{}
	for _, user := range naming.SystemUsers() {
		passwords[user] = "password-of-" + user
	}
	passwords[naming.UserOperator] = testPassword
	acl, err := desired.NewValkeyACL(desired.ValkeyACLInput{Users: users, SystemPasswords: passwords, Secrets: map[string]map[string][]byte{
		"s": {"a": []byte("first"), "b": []byte("second")},
	}})
	if err != nil || len(acl.Missing)+len(acl.Invalid) > 0 {
		t.Fatal(err, acl.Missing, acl.Invalid)
	}
	return acl.File
}

func serve(t *testing.T, binary valkeytest.Binary, acl string) *valkeytest.Process {
	t.Helper()
	options := valkeytest.Options{Binary: binary}
	if acl != "" {
		options.ACL = strings.Split(strings.TrimSpace(acl), "\n")
		options.Credentials = valkeyclient.Credentials{Username: naming.UserOperator, Password: testPassword}
	}
	return valkeytest.StartServer(t, options)
}

func TestANodeBecomesReadyAndIdlePassesWriteNothing(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
	c.passes(1)
	if got, want := strings.Join(c.written(), ", "), "apply Service, apply ConfigMap, apply StatefulSet, apply status"; got != want {
		t.Errorf("writes %s, want %s", got, want)
	}
	c.server = serve(t, valkeytest.Default(t), "")
	c.agentSays = "looking around before the start"
	c.startPod(false)
	c.passes(1)
	if got := c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonContainersNotReady); !strings.Contains(got.Message, "looking around") {
		t.Errorf("message %q does not tell what the agent says", got.Message)
	}
	c.startPod(true)
	c.passes(3)
	c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
	status := c.node().Status
	if !status.Ready || status.PodName != "valkey-cart-0-0" || status.PodIP != testPodIP || status.Role != v1alpha1.RolePrimary || status.WorkloadRevision == "" {
		t.Errorf("status = %+v", status)
	}
	c.written()
	c.told()
	result, err := c.pass()
	if err != nil {
		t.Fatal(err)
	}
	c.passes(5)
	if writes := c.written(); len(writes) != 0 {
		t.Errorf("idle passes write: %v", writes)
	}
	if told := c.told(); told != "" {
		t.Errorf("idle passes tell: %s", told)
	}
	if result.RequeueAfter < 10*time.Second {
		t.Errorf("looks again after %v although all is well", result.RequeueAfter)
	}
}

func TestReplicasNameTheirPrimary(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
	c.passes(1)
	primary := serve(t, valkeytest.Default(t), "")
	c.server = serve(t, valkeytest.Default(t), "")
	if err := c.server.Node().ReplicaOf(t.Context(), primary.Address); err != nil {
		t.Fatal(err)
	}
	c.startPod(true)
	c.passes(1)
	if status := c.node().Status; status.Role != v1alpha1.RoleReplica || status.ReplicaOf != primary.Address.String() {
		t.Errorf("%s of %q, want replica of %s", status.Role, status.ReplicaOf, primary.Address)
	}
}

// TestLiveConfigOnRealServers: what every version makes of directives, and that none is told twice.
func TestLiveConfigOnRealServers(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
		c.passes(1)
		c.server = serve(t, binary, "")
		c.startPod(true)
		c.passes(2)
		c.change(func(spec *v1alpha1.ValkeyNodeSpec) {
			spec.Config = map[string]string{
				"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru", "maxmemory-clients": "5%", "notify-keyspace-events": "KEA",
				"client-output-buffer-limit": "replica 300mb 80mb 30", "save": "900 1 300 10", "hz": "20", "activedefrag": "no",
				"slowlog-log-slower-than": "-1", "repl-backlog-size": "2mb", "oom-score-adj-values": "0 200 800",
				"latency-tracking-info-percentiles": "50 99 99.9", "proc-title-template": `"{title} {listen-addr}"`,
			}
		})
		c.passes(2)
		c.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
		got, err := c.server.Node().ConfigGet(t.Context(), "maxmemory", "maxmemory-policy", "client-output-buffer-limit", "save")
		if err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"maxmemory": "104857600", "maxmemory-policy": "allkeys-lru", "save": "900 1 300 10"} {
			if got[key] != want {
				t.Errorf("%s = %q, want %q", key, got[key], want)
			}
		}
		if !strings.Contains(got["client-output-buffer-limit"], "314572800 83886080 30") {
			t.Errorf("client-output-buffer-limit = %q", got["client-output-buffer-limit"])
		}
		c.told()
		c.passes(3)
		if told := c.told(); told != "" {
			t.Errorf("the server was told again:\n%s", told)
		}
		c.controller = c.newController() // which remembers nothing
		c.passes(2)
		c.told()
		c.passes(3)
		if told := c.told(); told != "" {
			t.Errorf("a new controller does not settle:\n%s", told)
		}
	})
}

func TestDriftAndRefusalsOnARealServer(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{Config: map[string]string{"maxmemory-policy": "allkeys-lru"}}))
	c.passes(1)
	c.server = serve(t, valkeytest.Default(t), "")
	c.startPod(true)
	c.passes(2)
	if err := c.server.Node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "maxmemory-policy", Value: "noeviction"}); err != nil {
		t.Fatal(err)
	}
	c.passes(1)
	if got, err := c.server.Node().ConfigGet(t.Context(), "maxmemory-policy"); err != nil || got["maxmemory-policy"] != "allkeys-lru" {
		t.Errorf("what a person set by hand stayed: %v, %v", got, err)
	}
	c.change(func(spec *v1alpha1.ValkeyNodeSpec) {
		spec.Config = map[string]string{"maxmemory-policy": "nonsense", "no-such-directive": "1", "hz": "20"}
	})
	c.told()
	c.passes(4)
	condition := c.wantCondition(v1alpha1.ConditionLiveConfigApplied, metav1.ConditionFalse, v1alpha1.ReasonConfigRefused)
	for _, want := range []string{"maxmemory-policy", "no-such-directive"} {
		if !strings.Contains(condition.Message, want) {
			t.Errorf("%q does not name %s", condition.Message, want)
		}
	}
	if got, err := c.server.Node().ConfigGet(t.Context(), "hz"); err != nil || got["hz"] != "20" {
		t.Errorf("refused directives hid another one: %v, %v", got, err)
	}
	if told := c.told(); strings.Count(told, "ConfigRefused") > 2 {
		t.Errorf("told more than once or twice:\n%s", told)
	}
	c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

// TestACLOnRealServers: what is rendered is recognised in what every version reports, so that a change is known to be in force at once.
func TestACLOnRealServers(t *testing.T) {
	alice := v1alpha1.UserSpec{
		Name: "alice", PasswordSecret: &v1alpha1.PasswordSecretRef{Name: "s", Keys: []string{"a"}},
		Keys:     &v1alpha1.UserKeys{ReadWrite: []string{"app:*"}, ReadOnly: []string{"ref:*"}},
		Commands: &v1alpha1.UserCommands{Allow: []string{"@read", "@write", "config|get"}, Deny: []string{"@dangerous", "keys"}},
		Channels: &v1alpha1.UserChannels{Patterns: []string{"news:*"}},
	}
	both := alice
	both.PasswordSecret = &v1alpha1.PasswordSecretRef{Name: "s", Keys: []string{"a", "b"}}
	odd := alice
	odd.Permissions = "allkeys allchannels +@all -debug (~x:* +get)"
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		objects, file := withUsers(t)
		c := newCluster(t, objects...)
		c.passes(1)
		c.server = serve(t, binary, file)
		c.startPod(true)
		c.passes(2)
		c.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
		for _, step := range []struct {
			name  string
			users []v1alpha1.UserSpec
		}{{"a user", []v1alpha1.UserSpec{alice}}, {"a second password", []v1alpha1.UserSpec{both}}, {"odd rules", []v1alpha1.UserSpec{odd}}, {"nobody", nil}} {
			changed := aclFile(t, step.users...)
			acl := secretOf("internal-cart-acl", map[string]string{naming.KeyACL: changed})
			if err := c.kube.Update(t.Context(), acl); err != nil {
				t.Fatal(err)
			}
			c.passes(6)
			c.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionFalse, v1alpha1.ReasonApplying)
			c.writeACL(changed)
			c.passes(8)
			c.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
			c.written()
			c.passes(3)
			if writes := c.written(); len(writes) != 0 {
				t.Errorf("%s: idle passes write: %v", step.name, writes)
			}
		}
	})
}

func TestAnACLFileThatTheServerRefuses(t *testing.T) {
	objects, file := withUsers(t)
	c := newCluster(t, objects...)
	c.passes(1)
	c.server = serve(t, valkeytest.Default(t), file)
	c.startPod(true)
	c.passes(2)
	bad := file + "user mallory on +no-such-command\n"
	if err := c.kube.Update(t.Context(), secretOf("internal-cart-acl", map[string]string{naming.KeyACL: bad})); err != nil {
		t.Fatal(err)
	}
	c.writeACL(bad)
	c.passes(6)
	condition := c.wantCondition(v1alpha1.ConditionACLApplied, metav1.ConditionFalse, v1alpha1.ReasonConfigRefused)
	if strings.Contains(condition.Message, "#") {
		t.Errorf("a password hash is in %q", condition.Message)
	}
	c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected)
}

func TestAServerThatRefusesTheLogin(t *testing.T) {
	objects, file := withUsers(t)
	c := newCluster(t, objects...)
	c.passes(1)
	c.server = serve(t, valkeytest.Default(t), file)
	if err := c.kube.Update(t.Context(), secretOf("internal-cart-system-passwords", map[string]string{naming.UserOperator: "wrong-password"})); err != nil {
		t.Fatal(err)
	}
	c.startPod(true)
	c.passes(2)
	if condition := c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonAuthFailed); strings.Contains(condition.Message, "wrong-password") {
		t.Errorf("the password is in %q", condition.Message)
	}
}

func TestOneObjectThatTheAPIRefusesDoesNotStopTheOthers(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
	c.fails["apply Service"] = apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "valkey-cart-0", errors.New("quota"))
	if _, err := c.pass(); err == nil {
		t.Error("no error: it would not be tried again")
	}
	if got := strings.Join(c.written(), ", "); !strings.Contains(got, "apply StatefulSet") {
		t.Errorf("the workload was not made: %s", got)
	}
	if condition := c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonApplyFailed); !strings.Contains(condition.Message, "quota") {
		t.Errorf("message %q", condition.Message)
	}
	if told := c.told(); !strings.Contains(told, v1alpha1.EventApplyFailed) {
		t.Errorf("nobody was told:\n%s", told)
	}
}

func TestANamespaceThatGoesIsNoError(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
	gone := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "valkey-cart-0", errors.New("being terminated"))
	gone.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, write := range []string{"apply Service", "apply ConfigMap", "apply StatefulSet"} {
		c.fails[write] = gone
	}
	if _, err := c.pass(); err != nil {
		t.Errorf("the queue would run hot: %v", err)
	}
	if err := c.kube.Delete(context.Background(), c.node()); err != nil {
		t.Fatal(err)
	}
	c.passes(1)
	if _, known := c.controller.recollections.Recall(c.key(), "uid"); known {
		t.Error("a node that is gone is remembered")
	}
}

func TestWhyAPodIsMissingIsTold(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{}))
	c.passes(1)
	set := &appsv1.StatefulSet{}
	if err := c.kube.Get(t.Context(), types.NamespacedName{Namespace: testNamespace, Name: "valkey-cart-0"}, set); err != nil {
		t.Fatal(err)
	}
	set.UID = "set"
	if err := c.kube.Update(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	for i, message := range []string{"older trouble", "violates PodSecurity \"restricted:latest\""} {
		event := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "e" + string(rune('0'+i))}, Type: corev1.EventTypeWarning,
			InvolvedObject: corev1.ObjectReference{UID: set.UID}, Message: message, Reason: "FailedCreate",
			LastTimestamp: metav1.NewTime(c.now.Add(time.Duration(i) * time.Minute)),
		}
		if err := c.kube.Create(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	c.now = c.now.Add(time.Minute)
	c.passes(1)
	if condition := c.wantCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonPodMissing); !strings.Contains(condition.Message, "violates PodSecurity") {
		t.Errorf("message %q", condition.Message)
	}
}

func TestMissingObjectsAreNamed(t *testing.T) {
	c := newCluster(t, nodeOf(v1alpha1.ValkeyNodeSpec{Valkey: "cart", ServerConfigMapName: "valkey-cart", UsersACLSecretName: "internal-cart-acl"}))
	o, err := c.controller.observe(t.Context(), c.key())
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Missing) != 2 || o.Missing[0].Name != "valkey-cart" || o.Missing[1].Name != "internal-cart-acl" {
		t.Errorf("missing: %v", o.Missing)
	}
}
