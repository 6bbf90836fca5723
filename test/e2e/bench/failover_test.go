//go:build e2ebench

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// downAfters are what down-after-milliseconds is set to, on both sides.
var downAfters = []time.Duration{5 * time.Second, time.Second, 500 * time.Millisecond}

// victim is a container that holds a primary, and the machine it is on.
type victim struct{ namespace, pod, container, machine string }

// faults lose a primary; what they return gives it back.
var faults = []struct {
	name   string
	strike func(*testing.T, victim) (undo func())
}{
	{"SIGKILL", func(t *testing.T, v victim) func() {
		framework.Cluster(t, "signal", "SIGKILL", v.namespace, v.pod, v.container)
		return func() {}
	}},
	{"SIGSTOP", func(t *testing.T, v victim) func() {
		signal := func(name string) {
			framework.Cluster(t, "signal", "--program", "valkey-server", name, v.namespace, v.pod, v.container)
		}
		signal("SIGSTOP")
		return func() { signal("SIGCONT") }
	}},
	{"partition", func(t *testing.T, v victim) func() { return framework.Cut(t, v.machine) }},
}

// How long nobody can write once a primary is lost: through the Sentinels, through the write Service, and through the Sentinels of a set-up
// that has nothing of the product, with the same servers and settings, in turns.
func TestFailover(t *testing.T) {
	e := framework.Connect(t)
	fmt.Println("| the primary is lost: until the first acknowledged write | runs | p50 | p95 | most | p50 against bare |")
	for _, after := range downAfters {
		t.Run(after.String(), func(t *testing.T) {
			ns := e.Namespace(t, "bench")
			f := &failovers{env: e, ns: ns, after: after, image: image("8.1")}
			f.set = e.Start(t, ns, framework.Options{Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: after, Image: f.image,
				Extra: "  scheduling: {node: {spread: {pods: {mode: Required}}}}\n"})
			f.client = e.Client(t, ns)
			for _, fault := range faults {
				t.Run(fault.name, func(t *testing.T) { f.measure(t, fault.name, fault.strike) })
			}
		})
	}
}

type failovers struct {
	env    *framework.Env
	ns     string
	after  time.Duration
	image  string
	set    *framework.Set
	client *framework.Client
}

// measure strikes the product's primary and a bare one in turns, and prints a row for each way to them.
func (f *failovers) measure(t *testing.T, fault string, strike func(*testing.T, victim) func()) {
	gaps := map[string][]time.Duration{}
	for i := range runs(t) {
		for way, gap := range f.strikeOurs(t, i, strike) {
			gaps[way] = append(gaps[way], gap)
		}
		gaps["bare"] = append(gaps["bare"], f.strikeBare(t, i, strike))
	}
	const unit = time.Millisecond
	bare := median(gaps["bare"])
	for _, way := range []string{"Sentinels", "Service", "bare"} {
		ratio := fmt.Sprintf("%.2f (%+d ms)", float64(median(gaps[way]))/float64(max(bare, unit)), (median(gaps[way])-bare)/unit)
		row(fmt.Sprintf("%s, down-after %d, %s", fault, f.after.Milliseconds(), way), gaps[way], ratio)
	}
}

func median(values []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func (f *failovers) strikeOurs(t *testing.T, i int, strike func(*testing.T, victim) func()) map[string]time.Duration {
	f.set.WaitReady(t, 5*time.Minute)
	f.set.WaitAgreed(t)
	f.set.MovePrimary(t, f.client, func(machine string) bool { return slices.Contains(f.machines(t), machine) })
	primary := f.set.Primary(t)
	pod, err := f.set.Pod(t, primary)
	if err != nil {
		t.Fatal(err)
	}
	gaps := f.gaps(t, map[string][]string{
		fmt.Sprintf("sentinels:%s:%d", t.Name(), i): f.set.ViaSentinel(),
		fmt.Sprintf("service:%s:%d", t.Name(), i):   {"-addr", f.set.PrimaryAddress()},
	}, func() func() {
		return strike(t, victim{f.ns, naming.NodePod(primary), naming.ContainerServer, pod.Spec.NodeName})
	})
	return map[string]time.Duration{"Sentinels": gaps[0], "Service": gaps[1]}
}

func (f *failovers) strikeBare(t *testing.T, i int, strike func(*testing.T, victim) func()) time.Duration {
	machines := f.machines(t)
	b := startBare(t, f, machines)
	defer b.remove(t)
	return f.gaps(t, map[string][]string{fmt.Sprintf("bare:%s:%d", t.Name(), i): b.route()}, func() func() {
		return strike(t, victim{f.ns, b.primary(), bareContainer, machines[0]})
	})[0]
}

// gaps are the longest times in which the writers of each route had no write acknowledged, by the names of the routes. The fault ends after that.
func (f *failovers) gaps(t *testing.T, routes map[string][]string, strike func() func()) []time.Duration {
	t.Helper()
	for name := range routes {
		routes[name] = append(routes[name], "-timeout", "500ms")
	}
	ledgers := f.client.Ledgers(t, routes)
	undo := strike()
	ledgers.WaitWriting(t, 2*time.Minute)
	sums := ledgers.Close(t, nil)
	undo()
	var gaps []time.Duration
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		gaps = append(gaps, time.Duration(sums[name].MaxGapMillis)*time.Millisecond)
	}
	return gaps
}

// machines are all, those first that may be lost: the client and the controller are not on them.
func (f *failovers) machines(t *testing.T) []string {
	t.Helper()
	list, err := f.env.Kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := f.env.Kube.CoreV1().Pods(f.ns).Get(t.Context(), "client", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var first, last []string
	for i := range list.Items {
		if name := list.Items[i].Name; name == client.Spec.NodeName || name == f.env.NodeOfController(t) {
			last = append(last, name)
		} else {
			first = append(first, name)
		}
	}
	return append(first, last...)
}
