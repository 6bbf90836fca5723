// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/agent/fence"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
)

// world is a model of one Valkey: nodes with their pods and servers, three Sentinels, and time in steps of a second. It knows everything; the
// plan sees of it what a controller would.
type world struct {
	random *rand.Rand
	now    time.Time
	valkey *v1alpha1.Valkey
	set    *v1alpha1.ValkeySentinel
	nodes  map[int]*simNode
	// leaving are pods of removed nodes that go in the next step.
	leaving []*corev1.Pod
	// volumes hold what a persistent node has written, also after it is gone.
	volumes map[int]data
	// hint is the primary in the boot settings, by index; -1 none.
	hint      int
	sentinels [3]sentinel
	// wasMonitored: the Sentinels' boot settings hold the monitor.
	wasMonitored bool
	// sentinelsLost: the Sentinels promoted a node without data.
	sentinelsLost bool
	endpoints     string // uid of the pod that the primary's Service leads to
	serial        int
	memory        Memory
	// user is an operation that a person asked for: what remains of it.
	userLeft int
	userDies bool
}

// data is a dataset: value counts the writes that it holds, history and offset say which.
type data struct {
	value           int64
	history, older  string
	offset, olderAt int64
}

type server struct {
	running, waiting bool
	primary          bool
	of               int
	linked           bool
	syncLeft         int
	everLinked       bool
	downFor          int
	waited           int
	data
}

type simNode struct {
	index  int
	object *v1alpha1.ValkeyNode
	pod    *corev1.Pod
	server server
	// podLeft counts until a pod is started; broken pods never are.
	podLeft int
	// cut: nobody reaches it; hidden: only the controller does not.
	cut, hidden bool
	// stale is the object as it was a step ago.
	stale    *v1alpha1.ValkeyNode
	stalePod *corev1.Pod
	// replaced by the controller with a pod of the awaited revision, and not in sync since.
	replaced bool
	awaited  string
	// forgotten: the controller has restarted since.
	forgotten bool
	// fence is the agent's, and wrong for how many seconds it has let a server take writes that another was promoted over.
	fence fence.State
	wrong int
	// paused for so many seconds more: whoever paused the writes for a hand-over is gone, and the pause ends by itself.
	paused int
	// asked is when the controller last asked the server for something.
	asked time.Time
}

type sentinel struct {
	up, registered bool
	names          int
	epoch          int64
	downFor        int
	inFlight       int
}

const badImage = "no/such:image"

func newWorld(seed uint64) *world {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		nodes: map[int]*simNode{}, volumes: map[int]data{}, hint: -1,
	}
	w.valkey = &v1alpha1.Valkey{ObjectMeta: metav1.ObjectMeta{Name: "v", Namespace: "ns", UID: "valkey", Generation: 1}}
	w.valkey.Spec.Replicas = int32(w.random.IntN(4))
	w.valkey.Spec.Failover.Mode = []v1alpha1.FailoverMode{
		v1alpha1.FailoverModeNone, v1alpha1.FailoverModeOperator, v1alpha1.FailoverModeSentinel}[w.random.IntN(3)]
	if w.random.IntN(2) == 0 {
		w.valkey.Spec.Persistence = &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("1Gi")}
	}
	w.valkey.Spec.Image = "image:1"
	v1alpha1.SetObjectDefaults_Valkey(w.valkey)
	w.set = &v1alpha1.ValkeySentinel{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "ns", UID: "set", Generation: 1}}
	w.set.Spec.Replicas = 3
	for i := range w.sentinels {
		w.sentinels[i].up = true
	}
	return w
}

func (w *world) persistent() bool { return w.valkey.Spec.Persistence != nil }

func (w *world) chance(percent float64) bool { return w.random.Float64()*100 < percent }

func (w *world) id(kind string) string {
	w.serial++
	return fmt.Sprintf("%s-%d", kind, w.serial)
}

// look is what a controller would see: nodes and pods perhaps a step old, servers and Sentinels as they are.
func (w *world) look(stale bool) Observed {
	o := Observed{
		Now: w.now, Valkey: w.valkey.DeepCopy(), Memory: w.memory, Leaving: w.leaving,
		Environment: Environment{SystemNamespace: "system", DNS: boot.DNS{ClusterDomain: "cluster.local"}},
	}
	for i := range 16 {
		n := w.nodes[i]
		if n == nil || n.object == nil {
			continue
		}
		seen := Node{Index: i, Object: n.object, Pod: n.pod}
		if stale && n.stale != nil {
			seen = Node{Index: i, Object: n.stale, Pod: n.stalePod}
		}
		o.Nodes = append(o.Nodes, seen)
		if n.live() && !n.hidden {
			n.asked = w.now
		}
		o.Snapshot.Members = append(o.Snapshot.Members, w.member(n))
	}
	if w.valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
		o.Monitoring.Set = w.set
		for i, s := range w.sentinels {
			o.Snapshot.Sentinels = append(o.Snapshot.Sentinels, w.sentinelView(i, s))
		}
	}
	o.Snapshot.Now = w.now
	return o
}

func address(index int) topology.Address {
	return topology.Address{Host: naming.NodeHost(naming.NodeName("v", index), "ns", "cluster.local"), Port: naming.PortValkey}
}

func (w *world) member(n *simNode) topology.Member {
	s := n.server
	m := topology.Member{Name: naming.NodeName("v", n.index), Address: address(n.index)}
	if !s.running || s.waiting || n.cut || n.hidden {
		m.Reach.Class = topology.ReachTimeout
		return m
	}
	m.Reach.Class, m.Role, m.Priority = topology.ReachOK, topology.RoleReplica, 100
	m.Keys, m.Offset, m.ReplID, m.ReplID2, m.SecondOffset = s.value, s.offset, s.history, s.older, s.olderAt
	m.LinkDownFor, m.LastIO, m.Persistence.RDBLastSaveOK = -1, -1, true
	if s.primary {
		m.Role = topology.RolePrimary
		for _, other := range w.nodes {
			if r := other.server; r.running && !r.waiting && !r.primary && r.of == n.index && r.linked {
				m.Connected = append(m.Connected, topology.ConnectedReplica{Address: address(other.index), Online: true})
			}
		}
		return m
	}
	m.Primary, m.LinkUp, m.Syncing = address(s.of), s.linked, s.syncLeft > 0
	if s.linked {
		m.LastIO = 0
	} else if s.everLinked {
		m.LinkDownFor = time.Duration(s.downFor) * time.Second
	}
	return m
}

func (w *world) sentinelView(i int, s sentinel) topology.SentinelView {
	view := topology.SentinelView{Name: naming.SentinelPod("s", i)}
	if !s.up {
		view.Reach.Class = topology.ReachTimeout
		return view
	}
	view.Reach.Class, view.Monitors = topology.ReachOK, map[string]topology.MonitorView{}
	if s.registered {
		up := 0
		for _, other := range w.sentinels {
			if other.up && other.registered {
				up++
			}
		}
		view.Monitors["v"] = topology.MonitorView{
			Primary: address(s.names), ConfigEpoch: s.epoch, Quorum: 2, NumOtherSentinels: 2, NumReplicas: len(w.nodes) - 1, QuorumOK: up >= 2,
			FailoverInProgress: s.inFlight > 0,
		}
	}
	return view
}

// revision is a cheap stand-in for desired.NodeRevision: what of the spec the model's changes touch.
func revision(spec v1alpha1.ValkeyNodeSpec) string {
	return spec.Image + "/" + spec.PodAnnotations["bump"]
}

// pod is a new pod of the node, at the revision that its status names.
func (w *world) newPod(n *simNode) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: naming.NodePod(n.object.Name), Namespace: "ns", UID: types.UID(w.id("pod")), Labels: naming.NodeLabels("v", n.object.Name),
		Annotations: map[string]string{naming.AnnotationRevision: n.object.Status.WorkloadRevision},
	}}
	pod.Status.Phase = corev1.PodPending
	return pod
}

// setPod replaces the pod's status without touching the object that somebody may look at.
func (n *simNode) setPod(running, ready bool) {
	if n.pod == nil {
		return
	}
	if running == (n.pod.Status.Phase == corev1.PodRunning) && ready == desired.IsPodReady(n.pod) {
		return
	}
	pod := n.pod.DeepCopy()
	pod.Status.Phase, pod.Status.PodIP = corev1.PodPending, fmt.Sprintf("10.0.0.%d", n.index+1)
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "Waiting"}}
	if running {
		pod.Status.Phase = corev1.PodRunning
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: naming.ContainerServer, State: state, Ready: ready}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	n.pod = pod
}
