// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package monitors

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/utils/clock"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/monitors/feed"
)

// VirtualREST is monitors: the monitors of all ValkeySentinels as they are now. Nothing is stored.
type VirtualREST struct {
	printer
	source *Source
	feed   *feed.Feed
}

// NewVirtualREST makes the endpoint.
func NewVirtualREST(source *Source) *VirtualREST {
	return &VirtualREST{source: source, feed: feed.New(source, clock.RealClock{})}
}

var (
	_ rest.Getter               = (*VirtualREST)(nil)
	_ rest.Lister               = (*VirtualREST)(nil)
	_ rest.Watcher              = (*VirtualREST)(nil)
	_ rest.Scoper               = (*VirtualREST)(nil)
	_ rest.SingularNameProvider = (*VirtualREST)(nil)
	_ rest.TableConvertor       = (*VirtualREST)(nil)
)

// New is an empty monitor.
func (r *VirtualREST) New() runtime.Object { return &api.Monitor{} }

// NewList is an empty list.
func (r *VirtualREST) NewList() runtime.Object { return &api.MonitorList{} }

// Destroy does nothing: what listens to Sentinels ends with the last watch.
func (r *VirtualREST) Destroy() {}

// NamespaceScoped is true.
func (r *VirtualREST) NamespaceScoped() bool { return true }

// GetSingularName is what kubectl calls one of them.
func (r *VirtualREST) GetSingularName() string { return "monitor" }

// Get asks for one monitor: the name of a ValkeySentinel, a dot, and the name of the monitor.
func (r *VirtualREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	notFound := apierrors.NewNotFound(api.Resource("monitors"), name)
	setName, _, isMonitor := strings.Cut(name, ".")
	if !isMonitor {
		return nil, notFound
	}
	set, err := r.source.Objects.Sentinel(ctx, setName)
	if apierrors.IsNotFound(err) {
		return nil, notFound
	}
	if err != nil {
		return nil, err
	}
	monitor, err := r.feed.Get(ctx, set, name)
	if err != nil {
		return nil, err
	}
	if monitor == nil {
		return nil, notFound
	}
	return monitor, nil
}

// List asks all Sentinels of the namespace, or of all. Those that do not answer are told of in the monitors' views.
func (r *VirtualREST) List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	exact := options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	listed, err := r.feed.List(ctx, selection(ctx, options), options.ResourceVersion, exact)
	if err != nil {
		return nil, err
	}
	list := &api.MonitorList{ListMeta: metav1.ListMeta{ResourceVersion: listed.ResourceVersion}, ObservedAt: metav1.NewMicroTime(listed.ObservedAt)}
	list.Items = make([]api.Monitor, 0, len(listed.Monitors))
	silent := map[string]bool{}
	for _, monitor := range listed.Monitors {
		list.Items = append(list.Items, *monitor)
		for i := range monitor.Views {
			warnOnce(ctx, silent, monitor.Namespace, &monitor.Views[i])
		}
	}
	return list, nil
}

func warnOnce(ctx context.Context, said map[string]bool, namespace string, view *api.MonitorView) {
	process := namespace + "/" + view.Pod
	if view.Error == "" || said[process] {
		return
	}
	said[process] = true
	warning.AddWarning(ctx, "", fmt.Sprintf("%s does not answer: %s", process, view.Error))
}

// Watch sends what changes, as the Sentinels say it.
func (r *VirtualREST) Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error) {
	if options == nil {
		options = &metainternalversion.ListOptions{}
	}
	start := feed.Start{
		ResourceVersion: options.ResourceVersion,
		// Without a version a watch begins with what is there, as everywhere in Kubernetes.
		Initial:   options.ResourceVersion == "" || options.ResourceVersion == "0",
		Bookmarks: options.AllowWatchBookmarks,
	}
	if options.SendInitialEvents != nil {
		start.Initial = *options.SendInitialEvents
		start.InitialEnd = start.Initial && options.AllowWatchBookmarks
	}
	selected := selection(ctx, options)
	if isPrinted(ctx) {
		selected.Same = printSame
	}
	return r.feed.Watch(ctx, selected, start)
}

func selection(ctx context.Context, options *metainternalversion.ListOptions) feed.Selection {
	byLabel, byField := labels.Everything(), fields.Everything()
	if options.LabelSelector != nil {
		byLabel = options.LabelSelector
	}
	if options.FieldSelector != nil {
		byField = options.FieldSelector
	}
	return feed.Selection{
		Namespace: genericapirequest.NamespaceValue(ctx),
		Matches: func(monitor *api.Monitor) bool {
			return byLabel.Matches(labels.Set(monitor.Labels)) &&
				byField.Matches(fields.Set{"metadata.name": monitor.Name, "metadata.namespace": monitor.Namespace})
		},
	}
}
