// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkey

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// nodeWork does what the ValkeyNode controller, the kubelets and the agents would do by now.
func (l *lab) nodeWork() {
	l.t.Helper()
	var nodes v1alpha1.ValkeyNodeList
	if err := l.kube.List(l.t.Context(), &nodes, client.InNamespace(testNamespace)); err != nil {
		l.t.Fatal(err)
	}
	there := map[string]bool{}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		if node.Labels[naming.LabelValkey] != testName {
			continue
		}
		there[node.Name] = true
		l.keepNode(node)
	}
	for name, process := range l.processes {
		if _, isNode := naming.NodeIndex(testName, name); isNode && !there[name] {
			process.Kill()
			delete(l.processes, name)
			l.deletePod(name)
		}
	}
}

func (l *lab) keepNode(node *v1alpha1.ValkeyNode) {
	l.t.Helper()
	status := node.Status.DeepCopy()
	revision := desired.NodeRevision(node.Spec)
	switch {
	case status.WorkloadRevision == "", revision == status.WorkloadRevision:
		status.WorkloadRevision, status.PendingRevision = revision, ""
	case node.Spec.WorkloadRevision == revision:
		status.WorkloadRevision, status.PendingRevision = revision, ""
		if process := l.processes[node.Name]; process != nil {
			process.Kill()
			delete(l.processes, node.Name)
		}
		l.deletePod(node.Name)
	default:
		status.PendingRevision = revision
	}
	status.ObservedGeneration = node.Generation
	if status.WorkloadRevision != node.Status.WorkloadRevision || status.PendingRevision != node.Status.PendingRevision ||
		status.ObservedGeneration != node.Status.ObservedGeneration {
		changed := node.DeepCopy()
		changed.Status = *status
		if err := l.kube.Status().Patch(l.t.Context(), changed, client.MergeFrom(node)); err != nil {
			l.t.Fatal(err)
		}
	}
	if l.broken[node.Name] {
		l.keepPod(node, status.WorkloadRevision, false, false)
		return
	}
	if l.processes[node.Name] == nil {
		l.startNode(node.Name)
	}
	l.keepPod(node, status.WorkloadRevision, true, l.isReady(node.Name))
}

// isReady is the agent's answer to the probe.
func (l *lab) isReady(node string) bool {
	ctx, cancel := context.WithTimeout(l.t.Context(), 300*time.Millisecond)
	defer cancel()
	replication, err := l.processes[node].Node().Replication(ctx)
	return err == nil && (replication.Role == valkeyclient.RolePrimary || replication.LinkUp)
}

// startNode is the agent: it starts as a replica of the primary that is hinted at, unless that is itself or nobody ever was.
func (l *lab) startNode(name string) {
	l.t.Helper()
	acl, passwords, config := &corev1.Secret{}, &corev1.Secret{}, &corev1.ConfigMap{}
	l.get(naming.ACLSecret(testName), acl)
	l.get(naming.SystemPasswordsSecret(testName), passwords)
	l.get(naming.ServerConfigMap(testName), config)
	settings, err := boot.Decode[boot.Node]([]byte(config.Data[naming.KeyBoot]))
	if err != nil {
		l.t.Fatal(err)
	}
	lines := []string{
		"masteruser " + naming.UserReplication, "masterauth " + string(passwords.Data[naming.UserReplication]),
		"repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "repl-timeout 10",
	}
	primary := settings.Primary
	if primary == "" {
		primary = naming.NodeName(testName, 0)
	}
	if primary != name {
		at := l.addressOf(primary)
		lines = append(lines, fmt.Sprintf("replicaof %s %d", at.Host, at.Port))
	}
	l.processes[name] = valkeytest.StartServer(l.t, valkeytest.Options{
		Binary: l.binary, Name: name, Port: l.addressOf(name).Port, Config: lines,
		ACL:         strings.Split(strings.TrimSpace(string(acl.Data[naming.KeyACL])), "\n"),
		Credentials: valkeyclient.Credentials{Username: naming.UserOperator, Password: string(passwords.Data[naming.UserOperator])},
	})
}

// crash kills a node's server. It is started again, empty, by a later nodeWork.
func (l *lab) crash(name string) {
	l.t.Helper()
	l.processes[name].Kill()
	delete(l.processes, name)
}

func (l *lab) podOf(node string) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := l.kube.Get(l.t.Context(), types.NamespacedName{Namespace: testNamespace, Name: naming.NodePod(node)}, pod); err != nil {
		return nil
	}
	return pod
}

func (l *lab) deletePod(node string) {
	l.t.Helper()
	if pod := l.podOf(node); pod != nil {
		if err := l.kube.Delete(l.t.Context(), pod); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) keepPod(node *v1alpha1.ValkeyNode, revision string, running, ready bool) {
	l.t.Helper()
	pod := l.podOf(node.Name)
	if pod == nil {
		pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: naming.NodePod(node.Name), Namespace: testNamespace, Labels: naming.NodeLabels(testName, node.Name),
			UID: types.UID(fmt.Sprintf("pod-%s-%d", node.Name, time.Now().UnixNano())), Annotations: map[string]string{naming.AnnotationRevision: revision},
		}}
		l.create(pod)
	}
	l.setPodStatus(pod, naming.ContainerServer, running, ready)
}

func (l *lab) setPodStatus(pod *corev1.Pod, container string, running, ready bool) {
	l.t.Helper()
	changed := pod.DeepCopy()
	changed.Status.Phase, changed.Status.PodIP = corev1.PodPending, "127.0.0.1"
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	if running {
		changed.Status.Phase = corev1.PodRunning
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	}
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	changed.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: container, State: state, Ready: ready}}
	changed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
	if fmt.Sprint(changed.Status) == fmt.Sprint(pod.Status) {
		return
	}
	if err := l.kube.Status().Patch(l.t.Context(), changed, client.MergeFrom(pod)); err != nil {
		l.t.Fatal(err)
	}
}

// roleOf asks the server itself.
func (l *lab) roleOf(node string) (valkeyclient.Replication, error) {
	if l.processes[node] == nil {
		return valkeyclient.Replication{}, fmt.Errorf("%s does not run", node)
	}
	return l.processes[node].Node().Replication(l.t.Context())
}

func (l *lab) wantPrimary(node string) error {
	replication, err := l.roleOf(node)
	if err != nil {
		return err
	}
	if replication.Role != valkeyclient.RolePrimary {
		return fmt.Errorf("%s is %s of %s", node, replication.Role, replication.Primary)
	}
	return nil
}

func (l *lab) wantFollows(node, primary string) error {
	replication, err := l.roleOf(node)
	if err != nil {
		return err
	}
	if at := l.addressOf(primary); replication.Role != valkeyclient.RoleReplica || replication.Primary.Port != at.Port || !replication.LinkUp {
		return fmt.Errorf("%s is %s of %s, link up %v", node, replication.Role, replication.Primary, replication.LinkUp)
	}
	return nil
}

// set writes a key as a client does that does not log in.
func (l *lab) set(node, key, value string) error {
	connection, err := net.DialTimeout("tcp", l.addressOf(node).String(), time.Second)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(connection, "SET %s %s\r\n", key, value); err != nil {
		return err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err == nil && strings.TrimSpace(answer) != "+OK" {
		err = fmt.Errorf("SET: %s", strings.TrimSpace(answer))
	}
	return err
}
