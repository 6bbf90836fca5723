// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package servicemonitor

import (
	"context"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// lab is an API with one Valkey in it.
type lab struct {
	t       *testing.T
	kube    client.Client
	events  *events.FakeRecorder
	r       *reconciler
	applied int
	// withoutKind: the cluster has no ServiceMonitors.
	withoutKind bool
}

func newLab(t *testing.T, objects ...client.Object) *lab {
	t.Helper()
	l := &lab{t: t, events: events.NewFakeRecorder(100)}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	scheme.AddKnownTypeWithName(desired.ServiceMonitorKind, &unstructured.Unstructured{})
	valkey := &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cache", UID: "valkey"}}
	valkey.Spec.Exporter = v1alpha1.ExporterSpec{Enabled: true, ServiceMonitor: v1alpha1.ServiceMonitorSpec{
		Enabled: true, Interval: "15s", Labels: map[string]string{"release": "prometheus", naming.LabelValkey: "other"}}}
	l.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, valkey)...).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, next client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isMonitor := object.(*unstructured.Unstructured); isMonitor && l.withoutKind {
				return &meta.NoKindMatchError{GroupKind: desired.ServiceMonitorKind.GroupKind()}
			}
			return next.Get(ctx, key, object, options...)
		},
		Apply: func(ctx context.Context, next client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			l.applied++
			return next.Apply(ctx, config, options...)
		},
	}).Build()
	l.r = reconciler{client: l.kube, reader: l.kube, events: l.events}.ofValkeys()
	return l
}

func (l *lab) pass() ctrl.Result {
	l.t.Helper()
	result, err := l.r.Reconcile(l.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "cache"}})
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

func (l *lab) monitor() (*unstructured.Unstructured, error) {
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(desired.ServiceMonitorKind)
	return monitor, l.kube.Get(l.t.Context(), client.ObjectKey{Namespace: "ns", Name: naming.ValkeyService("cache")}, monitor)
}

func (l *lab) change(change func(*v1alpha1.ExporterSpec)) {
	l.t.Helper()
	valkey := &v1alpha1.Valkey{}
	if err := l.kube.Get(l.t.Context(), client.ObjectKey{Namespace: "ns", Name: "cache"}, valkey); err != nil {
		l.t.Fatal(err)
	}
	change(&valkey.Spec.Exporter)
	if err := l.kube.Update(l.t.Context(), valkey); err != nil {
		l.t.Fatal(err)
	}
}

func TestAMonitorIsMadeOnceFollowsTheSpecAndGoes(t *testing.T) {
	l := newLab(t)
	l.pass()
	monitor, err := l.monitor()
	if err != nil {
		t.Fatal(err)
	}
	labels := monitor.GetLabels()
	if labels["release"] != "prometheus" || labels[naming.LabelValkey] != "cache" || len(monitor.GetOwnerReferences()) != 1 {
		t.Errorf("%+v", monitor.Object)
	}
	if result := l.pass(); l.applied != 1 || result.RequeueAfter != lookAgain {
		t.Errorf("applied %d times; looks again in %s", l.applied, result.RequeueAfter)
	}
	l.change(func(e *v1alpha1.ExporterSpec) { e.ServiceMonitor.Interval = "1m" })
	l.pass()
	monitor, _ = l.monitor()
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if len(endpoints) != 1 || endpoints[0].(map[string]any)["interval"] != "1m" {
		t.Errorf("%+v", endpoints)
	}
	l.change(func(e *v1alpha1.ExporterSpec) { e.Enabled = false })
	if result := l.pass(); result.RequeueAfter != 0 {
		t.Errorf("nothing is wanted, and it looks again in %s", result.RequeueAfter)
	}
	if _, err := l.monitor(); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAForeignMonitorIsLeftAlone(t *testing.T) {
	theirs := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"theirs": "yes"}}}
	theirs.SetGroupVersionKind(desired.ServiceMonitorKind)
	theirs.SetNamespace("ns")
	theirs.SetName(naming.ValkeyService("cache"))
	l := newLab(t, theirs)
	l.pass()
	if told := <-l.events.Events; !strings.Contains(told, v1alpha1.EventForeignObject) {
		t.Errorf("event %q", told)
	}
	l.change(func(e *v1alpha1.ExporterSpec) { e.ServiceMonitor.Enabled = false })
	l.pass()
	monitor, err := l.monitor()
	if word, _, _ := unstructured.NestedString(monitor.Object, "spec", "theirs"); err != nil || word != "yes" || l.applied > 0 {
		t.Errorf("%+v, %v", monitor.Object, err)
	}
}

func TestWithoutTheKindWhoAsksForOneIsTold(t *testing.T) {
	l := newLab(t)
	l.withoutKind = true
	if result := l.pass(); result.RequeueAfter != lookAgainWithout {
		t.Errorf("looks again in %s", result.RequeueAfter)
	}
	if told := <-l.events.Events; !strings.Contains(told, v1alpha1.EventConfigurationWarning) || !strings.Contains(told, "ServiceMonitor") {
		t.Errorf("event %q", told)
	}
	l.change(func(e *v1alpha1.ExporterSpec) { e.ServiceMonitor.Enabled = false })
	if result := l.pass(); result.RequeueAfter != 0 || len(l.events.Events) > 0 {
		t.Errorf("nobody asks, and: %s, %d events", result.RequeueAfter, len(l.events.Events))
	}
	l.withoutKind = false
	l.change(func(e *v1alpha1.ExporterSpec) { e.ServiceMonitor.Enabled = true })
	l.pass()
	if _, err := l.monitor(); err != nil {
		t.Errorf("the kind has come: %v", err)
	}
}
