// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/valkeykube/valkeykube/examples/clientgo"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// wire notes what kinds of bodies go over a connection.
type wire struct {
	mu   sync.Mutex
	seen []string
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(request)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.seen = append(w.seen, fmt.Sprintf("%s %s > %s", request.Method, request.Header.Get("Content-Type"), answer.Header.Get("Content-Type")))
		}
		return answer, err
	})
}

// take returns what was noted since the last time.
func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// A client that is made with the generated code and nothing else.
func TestClients(t *testing.T) {
	c := startCluster(t)
	etcd := startEtcd(t, t.TempDir())
	serve := func() func() {
		options := c.options(t, "", etcd.Endpoint())
		// As the manifests say: a server that stops does not wait for watches to end.
		options.Run.ShutdownSendRetryAfter, options.Run.ShutdownWatchTerminationGracePeriod = true, 2*time.Second
		return c.serveOptions(t, options)
	}
	stop := serve()
	restart := func() { stop(); stop = serve(); c.awaitAPI(t) }
	c.awaitAPI(t)
	t.Run("protobuf", c.testWire)
	t.Run("apply configurations", c.testApplyConfigurations)
	t.Run("watch list", c.testWatchList)
	t.Run("bookmarks", c.testBookmarks)
	t.Run("an informer outlives the server", func(t *testing.T) { c.testInformer(t, restart) })
	t.Run("pieces of a forgotten list", func(t *testing.T) { c.testForgotten(t, restart, etcd.Endpoint()) })
}

func (c *cluster) testWire(t *testing.T) {
	const proto = "application/vnd.kubernetes.protobuf"
	notes := &wire{}
	config := rest.CopyConfig(c.admin)
	config.Wrap(notes.wrap)
	api := valkeyClient(t, config).ValkeyV1alpha1().Valkeys("default")
	expect := func(what, want string, err error) {
		t.Helper()
		if got := notes.take(); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q: %v", what, got, want, err)
		}
	}
	made, err := api.Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "wire"}}, metav1.CreateOptions{})
	expect("create", "POST "+proto+" > "+proto, err)
	made.Labels = map[string]string{"on": "wire"}
	_, err = api.Update(t.Context(), made, metav1.UpdateOptions{})
	expect("update", "PUT "+proto+" > "+proto, err)
	_, err = api.Get(t.Context(), "wire", metav1.GetOptions{})
	expect("get", "GET  > "+proto, err)
	_, err = api.List(t.Context(), metav1.ListOptions{})
	expect("list", "GET  > "+proto, err)
	scale, err := api.GetScale(t.Context(), "wire", metav1.GetOptions{})
	expect("get scale", "GET  > "+proto, err)
	scale.Spec.Replicas = 1
	_, err = api.UpdateScale(t.Context(), "wire", scale, metav1.UpdateOptions{})
	expect("update scale", "PUT "+proto+" > "+proto, err)
	watching, err := api.Watch(t.Context(), metav1.ListOptions{})
	if err == nil {
		watching.Stop()
	}
	expect("watch", "GET  > "+proto+";stream=watch", err)
	_, err = api.Get(t.Context(), "missing", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a missing one: %v", err)
	}
	expect("an error", "GET  > "+proto, nil)
	expect("delete", "DELETE "+proto+" > "+proto, api.Delete(t.Context(), "wire", metav1.DeleteOptions{}))
}

func (c *cluster) testApplyConfigurations(t *testing.T) {
	client := valkeyClient(t, c.admin)
	made, err := clientgo.Cache(t.Context(), client, "default", "applied", 1, false)
	if err != nil || made.Spec.Replicas != 1 || made.Spec.Failover.Mode != v1alpha1.FailoverModeOperator {
		t.Fatalf("%+v: %v", made.Spec, err)
	}
	again, err := clientgo.Cache(t.Context(), client, "default", "applied", 1, false)
	if err != nil || again.ResourceVersion != made.ResourceVersion {
		t.Errorf("applied again, version %s was %s: %v", again.ResourceVersion, made.ResourceVersion, err)
	}
	made.Spec.Replicas = 2
	if _, err := client.ValkeyV1alpha1().Valkeys("default").Update(t.Context(), made, metav1.UpdateOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	_, err = clientgo.Cache(t.Context(), client, "default", "applied", 1, false)
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "somebody"`) {
		t.Errorf("somebody else's field: %v", err)
	}
	if made, err = clientgo.Cache(t.Context(), client, "default", "applied", 1, true); err != nil || made.Spec.Replicas != 1 {
		t.Errorf("taken over: %+v: %v", made, err)
	}
}

// next is what a watch tells next.
func next(t *testing.T, events watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, isOpen := <-events.ResultChan():
		if !isOpen {
			t.Fatal("the watch ended")
		}
		return event
	case <-time.After(90 * time.Second):
		t.Fatal("the watch tells nothing")
	}
	return watch.Event{}
}

func (c *cluster) testWatchList(t *testing.T) {
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	for _, name := range []string{"w-0", "w-1"} {
		if _, err := api.ValkeyNodes("default").Create(t.Context(), &v1alpha1.ValkeyNode{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	events, err := api.ValkeyNodes("default").Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	for _, want := range []string{"w-0", "w-1"} {
		if event := next(t, events); event.Type != watch.Added || event.Object.(*v1alpha1.ValkeyNode).Name != want {
			t.Errorf("%s %+v, want %s", event.Type, event.Object, want)
		}
	}
	end := next(t, events)
	if node, is := end.Object.(*v1alpha1.ValkeyNode); end.Type != watch.Bookmark || !is || node.Annotations[metav1.InitialEventsAnnotationKey] != "true" || node.ResourceVersion == "" {
		t.Errorf("the end of the list is %s %+v", end.Type, end.Object)
	}
	if err := api.ValkeyNodes("default").Delete(t.Context(), "w-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for event := next(t, events); event.Type != watch.Deleted; event = next(t, events) {
		if event.Type != watch.Bookmark {
			t.Errorf("%s instead of the deletion", event.Type)
		}
	}
}

// A watch that nothing happens to still learns how far it is: shortly before it ends, it is told.
func (c *cluster) testBookmarks(t *testing.T) {
	api := valkeyClient(t, c.admin).ValkeyV1alpha1()
	list, err := api.ValkeySentinels("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := api.ValkeySentinels("default").Watch(t.Context(), metav1.ListOptions{
		ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true, TimeoutSeconds: ptr.To[int64](4), FieldSelector: "metadata.name=nobody",
	})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	made, err := api.ValkeySentinels("default").Create(t.Context(), &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "unseen"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	for event := range events.ResultChan() {
		if event.Type != watch.Bookmark {
			t.Errorf("%s %+v", event.Type, event.Object)
			continue
		}
		seen = event.Object.(*v1alpha1.ValkeySentinel).ResourceVersion
	}
	// Versions of one store are numbers that grow.
	if len(seen) < len(made.ResourceVersion) || len(seen) == len(made.ResourceVersion) && seen < made.ResourceVersion {
		t.Errorf("the last bookmark is at %q, the object that it does not show at %s", seen, made.ResourceVersion)
	}
}

// primaries are those that the informer of the example has told.
type primaries struct {
	mu   sync.Mutex
	told []string
}

func (p *primaries) changed(valkey *v1alpha1.Valkey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, valkey.Status.Primary)
}

func (p *primaries) expect(t *testing.T, want ...string) {
	t.Helper()
	await(t, "what the informer tells", func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.Equal(p.told, want) {
			return fmt.Errorf("%q, want %q", p.told, want)
		}
		return nil
	})
}

func setPrimary(t *testing.T, client *versioned.Clientset, name, primary string) {
	t.Helper()
	await(t, "the write", func(ctx context.Context) error {
		valkey, err := client.ValkeyV1alpha1().Valkeys("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		valkey.Status.Primary = primary
		_, err = client.ValkeyV1alpha1().Valkeys("default").UpdateStatus(ctx, valkey, metav1.UpdateOptions{})
		return err
	})
}

func (c *cluster) testInformer(t *testing.T, restart func()) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := valkeyClient(t, c.admin)
	if _, err := client.ValkeyV1alpha1().Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "informed"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	told := &primaries{}
	lister, err := clientgo.Primaries(ctx, client, "default", told.changed)
	if err != nil {
		t.Fatal(err)
	}
	setPrimary(t, client, "informed", "informed-0")
	told.expect(t, "informed-0")
	restart()
	if _, err := lister.Valkeys("default").Get("informed"); err != nil {
		t.Errorf("after a restart of the server: %v", err)
	}
	setPrimary(t, client, "informed", "informed-1")
	told.expect(t, "informed-0", "informed-1")
	if err := client.ValkeyV1alpha1().Valkeys("default").Delete(t.Context(), "informed", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the deletion", func(context.Context) error {
		if _, err := lister.Valkeys("default").Get("informed"); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still listed: %w", err)
		}
		return nil
	})
}

// forgetful makes etcd forget everything old after the first piece of a list, and starts a server that has not seen it.
type forgetful struct {
	next   http.RoundTripper
	forget func()
	mu     sync.Mutex
	// pieces are the codes of the answers to lists.
	pieces []int
}

// RoundTrip notes the answers to lists, and forgets after the first.
func (f *forgetful) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := f.next.RoundTrip(request)
	if err != nil || !strings.HasSuffix(request.URL.Path, "/valkeys") || request.Method != http.MethodGet {
		return answer, err
	}
	f.mu.Lock()
	f.pieces = append(f.pieces, answer.StatusCode)
	isFirst := len(f.pieces) == 1
	f.mu.Unlock()
	if isFirst {
		f.forget()
	}
	return answer, nil
}

func (c *cluster) testForgotten(t *testing.T, restart func(), endpoint string) {
	client := valkeyClient(t, c.admin)
	want := make([]string, 0, 5)
	for i := range 5 {
		name := fmt.Sprintf("piece-%d", i)
		want = append(want, name)
		if _, err := client.ValkeyV1alpha1().Valkeys("default").Create(t.Context(), &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "its state", func(ctx context.Context) error {
			valkey, err := client.ValkeyV1alpha1().Valkeys("default").Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			valkey.Status.State = v1alpha1.StateReady
			_, err = client.ValkeyV1alpha1().Valkeys("default").UpdateStatus(ctx, valkey, metav1.UpdateOptions{})
			return err
		})
	}
	names, err := clientgo.InState(t.Context(), client, "default", v1alpha1.StateReady, 2)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("in pieces: %q: %v", names, err)
	}
	notes := &forgetful{forget: func() { c.forget(t, endpoint); restart() }}
	config := rest.CopyConfig(c.admin)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { notes.next = transport; return notes })
	names, err = clientgo.InState(t.Context(), valkeyClient(t, config), "default", v1alpha1.StateReady, 2)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("in pieces that are forgotten: %q: %v", names, err)
	}
	if !slices.Contains(notes.pieces, http.StatusGone) {
		t.Errorf("nothing was forgotten: %v", notes.pieces)
	}
}

// forget makes etcd forget what was before now.
func (c *cluster) forget(t *testing.T, endpoint string) {
	setPrimary(t, valkeyClient(t, c.admin), "piece-4", "forgotten")
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = etcd.Close() }()
	now, err := etcd.Get(t.Context(), "none")
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := etcd.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Error(err)
	}
}
