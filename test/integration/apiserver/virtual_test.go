// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/informers/externalversions"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// askMonitors asks once for the list, without the client's own repetitions.
func askMonitors(namespace string) *rest.Request {
	return shared.client.ValkeyV1alpha1().RESTClient().Get().Namespace(namespace).Resource("monitors").MaxRetries(0)
}

// subscribers counts the API server's subscriptions at a Sentinel.
func subscribers(sentinel *valkeytest.Process) int {
	count := 0
	for line := range strings.SplitSeq(sentinel.CommandAs(credentials(naming.UserOperator), "CLIENT", "LIST"), "\n") {
		if strings.Contains(line, "user="+naming.UserAPIServer) && strings.Contains(line, " psub=1 ") {
			count++
		}
	}
	return count
}

// feeding are the goroutines of the server's feed of monitors.
func feeding() string {
	var all bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&all, 2)
	var found []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, "monitors/feed.") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

func awaitSilence(t *testing.T) {
	t.Helper()
	valkeytest.Eventually(t, "nobody listens any more", func(context.Context) error {
		if left := feeding(); left != "" {
			return errors.New(left)
		}
		return nil
	})
}

func TestMonitorsAreListedAcrossNamespaces(t *testing.T) {
	one := startSet(t, "virtual-one", v1alpha1.FailoverModeSentinel, 1, 3)
	startSet(t, "virtual-two", v1alpha1.FailoverModeSentinel, 1, 3)
	api := shared.client.ValkeyV1alpha1()

	monitor, err := api.Monitors("virtual-one").Get(t.Context(), "watch.cache", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if monitor.Sentinel != "watch" || monitor.MonitorName != "cache" || monitor.Valkey != "cache" || !monitor.Agreed || !monitor.OK || monitor.Quorum != 2 ||
		monitor.PrimaryAddress != one.Nodes[0].Address.String() || len(monitor.Views) != 3 || monitor.ResourceVersion == "" || monitor.Labels[naming.LabelValkey] != "cache" {
		t.Errorf("got %+v", monitor)
	}
	list, err := api.Monitors("virtual-one").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.ResourceVersion == "" || list.ObservedAt.IsZero() {
		t.Fatalf("list: %v, %+v", err, list)
	}
	if again, err := api.Monitors("virtual-one").Get(t.Context(), "watch.cache", metav1.GetOptions{}); err != nil || again.ResourceVersion != list.Items[0].ResourceVersion {
		t.Errorf("nothing has changed but the version: %v, %+v", err, again)
	}
	all, err := api.Monitors("").List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=watch.cache"})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, monitor := range all.Items {
		found[monitor.Namespace] = true
	}
	if !found["virtual-one"] || !found["virtual-two"] {
		t.Errorf("of all namespaces: %v", found)
	}
	for selector, want := range map[string]int{naming.LabelSentinel + "=watch": 1, naming.LabelValkey + "=other": 0} {
		if list, err := api.Monitors("virtual-one").List(t.Context(), metav1.ListOptions{LabelSelector: selector}); err != nil || len(list.Items) != want {
			t.Errorf("%s: %v, %d items", selector, err, len(list.Items))
		}
	}
	for _, name := range []string{"watch.other", "other.cache", "cache"} {
		if _, err := api.Monitors("virtual-one").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := api.Monitors("virtual-empty").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 || list.ResourceVersion == "" {
		t.Errorf("of a namespace with nothing in it: %v, %+v", err, list)
	}
	output, err := kubectl(t, "virtual-one", "", "get", "monitors")
	if want := "watch.cache   cache     cache    " + one.Nodes[0].Address.String() + "   true     true   2        3/3"; err != nil || !strings.Contains(output, want) {
		t.Errorf("kubectl get monitors: %v\n%s\nwant %q", err, output, want)
	}
	if output, err := kubectl(t, "virtual-one", "", "delete", "monitor", "watch.cache"); err == nil || !strings.Contains(output, "MethodNotAllowed") {
		t.Errorf("kubectl delete monitor: %v\n%s", err, output)
	}
}

// recorder keeps what an informer tells.
type recorder struct {
	mu       sync.Mutex
	versions []uint64
	deleted  int
}

func (r *recorder) seen(object any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	version, _ := strconv.ParseUint(object.(*v1alpha1.Monitor).ResourceVersion, 10, 64)
	r.versions = append(r.versions, version)
}

func TestAnInformerFollowsMonitorsThroughAFailover(t *testing.T) {
	const namespace = "virtual-informer"
	awaitSilence(t)
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 2, 3)
	stop := make(chan struct{})
	var record recorder
	var informers []externalversions.SharedInformerFactory
	for i := range 3 {
		factory := externalversions.NewSharedInformerFactoryWithOptions(shared.client, 0, externalversions.WithNamespace(namespace))
		informer := factory.Valkey().V1alpha1().Monitors().Informer()
		if i == 0 {
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: record.seen, UpdateFunc: func(_, now any) { record.seen(now) },
				DeleteFunc: func(any) { record.mu.Lock(); defer record.mu.Unlock(); record.deleted++ },
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		factory.Start(stop)
		if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
			t.Fatal("no sync")
		}
		informers = append(informers, factory)
	}
	lister := informers[0].Valkey().V1alpha1().Monitors().Lister().Monitors(namespace)
	shows := func(what string, is func(*v1alpha1.Monitor) bool) {
		t.Helper()
		valkeytest.Eventually(t, what, func(context.Context) error {
			monitor, err := lister.Get("watch.cache")
			if err == nil && !is(monitor) {
				return fmt.Errorf("%+v", monitor)
			}
			return err
		})
	}
	shows("the primary", func(m *v1alpha1.Monitor) bool { return m.PrimaryAddress == set.Nodes[0].Address.String() && m.Agreed })
	for _, sentinel := range set.Sentinels {
		valkeytest.Eventually(t, "one subscription, however many watch", func(context.Context) error {
			if count := subscribers(sentinel); count != 1 {
				return fmt.Errorf("%s: %d", sentinel.Name, count)
			}
			return nil
		})
	}

	began := time.Now()
	if _, err := failover(t, namespace, &v1alpha1.Failover{Spec: v1alpha1.FailoverRequestSpec{To: "cache-1"}}); err != nil {
		t.Fatal(err)
	}
	shows("the new primary", func(m *v1alpha1.Monitor) bool { return m.PrimaryAddress == set.Nodes[1].Address.String() && m.Agreed })
	t.Logf("the informer showed the new primary, on which all Sentinels agree, %s after the failover was asked for", time.Since(began))

	set.Sentinels[2].Kill()
	shows("the Sentinel that is gone", func(m *v1alpha1.Monitor) bool {
		return m.Views[2].Error == "Unreachable" && m.Views[0].Registered && m.OK
	})
	set.Sentinels[0].Kill()
	set.Sentinels[1].Kill()
	// That nobody answers is a value: nothing is deleted.
	shows("that nobody answers", func(m *v1alpha1.Monitor) bool {
		return !m.OK && m.PrimaryAddress == "" && m.Views[0].Error != "" && m.Views[1].Error != ""
	})
	record.mu.Lock()
	for i, version := range record.versions[1:] {
		if version <= record.versions[i] {
			t.Errorf("versions do not grow: %v", record.versions)
		}
	}
	if record.deleted > 0 {
		t.Errorf("%d deletions", record.deleted)
	}
	record.mu.Unlock()
	for _, sentinel := range set.Sentinels {
		sentinel.Start()
	}
	shows("Sentinels that have come back", func(m *v1alpha1.Monitor) bool { return m.OK && m.Agreed && m.Views[2].Registered })

	if err := shared.client.ValkeyV1alpha1().ValkeySentinels(namespace).Delete(t.Context(), "watch", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	valkeytest.Eventually(t, "nothing monitors any more", func(context.Context) error {
		_, err := lister.Get("watch.cache")
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
	close(stop)
	for _, factory := range informers {
		factory.Shutdown()
	}
	awaitSilence(t)
	for _, sentinel := range set.Sentinels {
		valkeytest.Eventually(t, "no subscription", func(context.Context) error {
			if count := subscribers(sentinel); count != 0 {
				return fmt.Errorf("%s: %d", sentinel.Name, count)
			}
			return nil
		})
	}
}

func next(t *testing.T, watcher watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, open := <-watcher.ResultChan():
		if !open {
			t.Fatal("the watch has ended")
		}
		return event
	case <-time.After(valkeytest.Patience):
		t.Fatal("no event")
	}
	return watch.Event{}
}

func TestVersionsOfMonitors(t *testing.T) {
	const namespace = "virtual-versions"
	startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	monitors := shared.client.ValkeyV1alpha1().Monitors(namespace)
	list, err := monitors.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watching := func(options metav1.ListOptions) watch.Interface {
		t.Helper()
		watcher, err := monitors.Watch(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watcher.Stop)
		return watcher
	}
	fromList := watching(metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	fromNothing := watching(metav1.ListOptions{})
	if event := next(t, fromNothing); event.Type != watch.Added {
		t.Errorf("a watch without a version begins with %+v", event)
	}
	yes := true
	watchList := watching(metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if event := next(t, watchList); event.Type != watch.Added {
		t.Errorf("a watch with initial events begins with %+v", event)
	}
	bookmark := next(t, watchList)
	at, ok := bookmark.Object.(*v1alpha1.Monitor)
	if bookmark.Type != watch.Bookmark || !ok || at.Annotations[metav1.InitialEventsAnnotationKey] != "true" || at.ResourceVersion == "" {
		t.Fatalf("initial events end with %+v", bookmark)
	}

	// A second Valkey that no Sentinel knows yet.
	second := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "second", Labels: map[string]string{"watched": "yes"}}}
	second.Spec.Replicas, second.Spec.Failover.Mode = 1, v1alpha1.FailoverModeSentinel
	if _, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).Create(t.Context(), second, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, watcher := range map[string]watch.Interface{"from the list": fromList, "from nothing": fromNothing, "with initial events": watchList} {
		event := next(t, watcher)
		monitor, ok := event.Object.(*v1alpha1.Monitor)
		if event.Type != watch.Added || !ok || monitor.Name != "watch.second" || monitor.OK || monitor.Views[0].Registered || monitor.Valkey != "second" {
			t.Errorf("a watch %s: %+v", name, event)
		}
	}
	// Who comes later with the version of the list is told what it has missed.
	if event := next(t, watching(metav1.ListOptions{ResourceVersion: list.ResourceVersion})); event.Type != watch.Added {
		t.Errorf("a later watch from the list: %+v", event)
	}
	if _, err := monitors.List(t.Context(), metav1.ListOptions{ResourceVersion: at.ResourceVersion}); err != nil {
		t.Errorf("a list not older than a bookmark: %v", err)
	}
	for _, version := range []string{"1", "1700000000000"} {
		if _, err := monitors.Watch(t.Context(), metav1.ListOptions{ResourceVersion: version}); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			t.Errorf("a watch from version %s: %v", version, err)
		}
		// But the state now is not older than that.
		if _, err := monitors.List(t.Context(), metav1.ListOptions{ResourceVersion: version}); err != nil {
			t.Errorf("a list not older than %s: %v", version, err)
		}
	}
	err = askMonitors(namespace).Param("resourceVersion", "9000000000000000000").Do(t.Context()).Error()
	if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("a version of the future: %v", err)
	}
	if err := askMonitors(namespace).Param("resourceVersion", "x").Do(t.Context()).Error(); !apierrors.IsBadRequest(err) {
		t.Errorf("no version: %v", err)
	}
	exact := askMonitors(namespace).Param("resourceVersion", list.ResourceVersion).Param("resourceVersionMatch", "Exact")
	if err := exact.Do(t.Context()).Error(); !apierrors.IsResourceExpired(err) {
		t.Errorf("a state of the past: %v", err)
	}
}

func TestMonitorsWhileAllSentinelsAreAway(t *testing.T) {
	const namespace = "virtual-away"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	for _, sentinel := range set.Sentinels {
		sentinel.Kill()
	}
	for what, request := range map[string]*rest.Request{"list": askMonitors(namespace), "get": askMonitors(namespace).Name("watch.cache")} {
		err := request.Do(t.Context()).Error()
		expect(t, err, http.StatusServiceUnavailable, "Unreachable", "no Sentinel answers")
		if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds == 0 {
			t.Errorf("%s: no Retry-After: %v", what, err)
		}
	}
	makeObjects(t, "virtual-missing", v1alpha1.FailoverModeSentinel, 1, 3)
	expect(t, askMonitors("virtual-missing").Do(t.Context()).Error(), http.StatusServiceUnavailable, "", "cannot log in yet")
}

func TestKubectlWatchesMonitors(t *testing.T) {
	const namespace = "virtual-kubectl"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command := kubectlCommand(ctx, t, namespace, "get", "monitors", "-w", "--output-watch-events")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(output)
	lines.Scan() // the header
	if !lines.Scan() || !strings.Contains(lines.Text(), "ADDED") || !strings.Contains(lines.Text(), set.Nodes[0].Address.String()) {
		t.Fatalf("first row %q", lines.Text())
	}
	if _, err := failover(t, namespace, &v1alpha1.Failover{}); err != nil {
		t.Fatal(err)
	}
	// A change that cannot be seen is not printed.
	before := strings.Join(strings.Fields(lines.Text())[1:], " ")
	for lines.Scan() {
		printed := strings.Join(strings.Fields(lines.Text())[1:], " ")
		if printed == before {
			t.Errorf("printed again: %s", lines.Text())
		}
		before = printed
		if strings.Contains(lines.Text(), "MODIFIED") && strings.Contains(lines.Text(), set.Nodes[1].Address.String()) {
			break
		}
	}
	if lines.Err() != nil || !strings.Contains(lines.Text(), set.Nodes[1].Address.String()) {
		t.Errorf("no row with the new primary: %v", lines.Err())
	}
	cancel()
	_ = command.Wait()
}
