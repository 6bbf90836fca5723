// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// world is what the server finds outside of itself: Secrets, and where processes listen.
var world outside

type outside struct {
	mu        sync.Mutex
	secrets   map[string]map[string][]byte
	addresses map[string]string
	// away: the controller is.
	away atomic.Bool
}

func (o *outside) IsAway(context.Context) bool { return o.away.Load() }

func (o *outside) SecretData(_ context.Context, namespace, name string) (map[string][]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	data, ok := o.secrets[namespace+"/"+name]
	if !ok {
		return nil, fmt.Errorf("secrets %q not found", name)
	}
	return data, nil
}

func (o *outside) Node(namespace, node string) string { return o.address(namespace + "/" + node) }

func (o *outside) Sentinel(namespace, sentinel string, index int) string {
	return o.address(namespace + "/" + naming.SentinelPod(sentinel, index))
}

func (o *outside) address(process string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if address, ok := o.addresses[process]; ok {
		return address
	}
	return "127.0.0.1:1" // nobody listens there
}

func (o *outside) add(secrets map[string]map[string][]byte, addresses map[string]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.secrets == nil {
		o.secrets, o.addresses = map[string]map[string][]byte{}, map[string]string{}
	}
	maps.Copy(o.secrets, secrets)
	maps.Copy(o.addresses, addresses)
}

func credentials(user string) valkeyclient.Credentials {
	return valkeyclient.Credentials{Username: user, Password: "pw-of-" + user}
}

// tester is a user of the tests' own, which may look at and fill datasets.
func tester() valkeyconf.User {
	return valkeyconf.User{
		Name: "tester", Enabled: true, PasswordHashes: []string{valkeyconf.HashPassword(credentials("tester").Password)}, Rules: []string{"~*", "+@all"},
	}
}

func acl(t *testing.T, makeUser func(string, ...string) (valkeyconf.User, bool), names []string, others ...valkeyconf.User) []string {
	t.Helper()
	lines := []string{}
	for _, name := range names {
		user, _ := makeUser(name, valkeyconf.HashPassword(credentials(name).Password))
		others = append(others, user)
	}
	for _, user := range others {
		line, err := user.Line()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// startSet starts real servers and Sentinels with the product's users, and makes the objects in a namespace of their own that
// they would belong to: the Valkey "cache" in the given mode with its nodes and, where there are Sentinels, the ValkeySentinel "watch".
func startSet(t *testing.T, namespace string, mode v1alpha1.FailoverMode, replicas, sentinels int) *valkeytest.Set {
	t.Helper()
	replication, peer, sentinelUser := credentials(naming.UserReplication), credentials(naming.UserPeer), credentials(naming.UserSentinel)
	set := valkeytest.StartSet(t, valkeytest.SetOptions{
		Binary: valkeytest.Default(t), Replicas: replicas, Sentinels: sentinels, Monitor: "cache", Hurry: true,
		NodeACL: acl(t, valkeyconf.NodeUser, naming.SystemUsers(), valkeyconf.OpenNodeDefault(), tester()), NodeUser: credentials(naming.UserOperator),
		NodeConfig:     []string{"masteruser " + replication.Username, "masterauth " + replication.Password},
		SentinelACL:    acl(t, valkeyconf.SentinelUser, naming.SentinelSystemUsers(), valkeyconf.OpenSentinelDefault()),
		SentinelUser:   credentials(naming.UserOperator),
		SentinelConfig: []string{"sentinel sentinel-user " + peer.Username, "sentinel sentinel-pass " + peer.Password},
		MonitorSettings: []valkeyclient.Setting{
			{Key: "auth-user", Value: sentinelUser.Username}, {Key: "auth-pass", Value: sentinelUser.Password},
		},
	})
	password := map[string][]byte{naming.UserAPIServer: []byte(credentials(naming.UserAPIServer).Password)}
	secrets := map[string]map[string][]byte{
		namespace + "/" + naming.SystemPasswordsSecret("cache"):   password,
		namespace + "/" + naming.SentinelPasswordsSecret("watch"): password,
	}
	addresses := map[string]string{}
	for i, node := range set.Nodes {
		addresses[namespace+"/"+naming.NodeName("cache", i)] = node.Address.String()
	}
	for i, sentinel := range set.Sentinels {
		addresses[namespace+"/"+naming.SentinelPod("watch", i)] = sentinel.Address.String()
	}
	world.add(secrets, addresses)
	makeObjects(t, namespace, mode, replicas, sentinels)
	return set
}

func makeObjects(t *testing.T, namespace string, mode v1alpha1.FailoverMode, replicas, sentinels int) {
	t.Helper()
	labels := map[string]string{"watched": "yes"}
	api := shared.client.ValkeyV1alpha1()
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "cache", Labels: labels}}
	valkey.Spec.Replicas, valkey.Spec.Failover.Mode = int32(replicas), mode
	if _, err := api.Valkeys(namespace).Create(t.Context(), valkey, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range replicas + 1 {
		node := &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: naming.NodeName("cache", i)}}
		node.Spec.Valkey = "cache"
		if _, err := api.ValkeyNodes(namespace).Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if sentinels == 0 {
		return
	}
	watch := &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "watch"}}
	watch.Spec.Replicas = int32(sentinels)
	watch.Spec.ValkeySelector = &metav1.LabelSelector{MatchLabels: labels}
	if _, err := api.ValkeySentinels(namespace).Create(t.Context(), watch, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
