// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// Set is a Valkey under test and, where it has one, the ValkeySentinel that monitors it.
type Set struct {
	Env       *Env
	Namespace string
	Name      string
	// Sentinel is the name of the ValkeySentinel; empty without.
	Sentinel  string
	Sentinels int
}

// Options change the manifest of a Set.
type Options struct {
	Name     string
	Replicas int
	Mode     v1alpha1.FailoverMode
	// DownAfter is how long a primary must be away. Default: 2 s in mode Sentinel, and else the product's. Where servers may get no time to run for
	// longer than that, because other tests run beside, it must be more: a failover that nobody planned loses writes.
	DownAfter time.Duration
	// Persistent gives each node a volume.
	Persistent bool
	// Image of the servers; empty is the one that $SERVERS names, and without it the product's default.
	Image string
	// SentinelImage is the one of the Sentinels; empty is as with Image.
	SentinelImage string
	// Extra is YAML under spec, indented by two spaces.
	Extra string
}

// Manifest of a Valkey.
func (o Options) Manifest() string {
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: valkey.io/v1alpha1\nkind: Valkey\nmetadata:\n  name: %s\n  labels: {team: a}\nspec:\n  replicas: %d\n", o.Name, o.Replicas)
	fmt.Fprintf(&b, "  failover:\n    mode: %s\n", o.Mode)
	if o.Mode == v1alpha1.FailoverModeSentinel {
		after := o.DownAfter
		if after == 0 {
			after = 2 * time.Second
		}
		fmt.Fprintf(&b, "    sentinel:\n      config: {down-after-milliseconds: \"%d\", failover-timeout: \"10000\"}\n", after.Milliseconds())
	}
	if o.DownAfter != 0 && o.Mode == v1alpha1.FailoverModeOperator {
		fmt.Fprintf(&b, "    operator: {downAfter: %s}\n", o.DownAfter)
	}
	if o.Persistent {
		b.WriteString("  persistence: {size: 64Mi}\n")
	}
	if image := cmp.Or(o.Image, serverImage()); image != "" {
		fmt.Fprintf(&b, "  image: %s\n", image)
	}
	b.WriteString(o.Extra)
	return b.String()
}

// serverImage is of the Valkey version in $SERVERS, with which every test that names no other runs; empty without.
func serverImage() string {
	if version := os.Getenv("SERVERS"); version != "" {
		return "docker.io/valkey/valkey:" + version
	}
	return ""
}

// SentinelManifest is a ValkeySentinel of three that selects team a.
func SentinelManifest(name string) string { return sentinelManifest(name, serverImage()) }

func sentinelManifest(name, image string) string {
	manifest := "apiVersion: valkey.io/v1alpha1\nkind: ValkeySentinel\nmetadata:\n  name: " + name +
		"\nspec:\n  replicas: 3\n  valkeySelector: {matchLabels: {team: a}}\n"
	if image != "" {
		manifest += "  image: " + image + "\n"
	}
	return manifest
}

// Start applies a Valkey, and a ValkeySentinel with mode Sentinel, and waits until all is ready.
func (e *Env) Start(t *testing.T, namespace string, o Options) *Set {
	t.Helper()
	s := &Set{Env: e, Namespace: namespace, Name: o.Name}
	if o.Mode == v1alpha1.FailoverModeSentinel {
		s.Sentinel, s.Sentinels = "watch", 3
		Apply(t, namespace, sentinelManifest(s.Sentinel, cmp.Or(o.SentinelImage, serverImage())))
	}
	Apply(t, namespace, o.Manifest())
	s.WaitReady(t, 3*time.Minute)
	return s
}

// Get is the Valkey now.
func (s *Set) Get(t *testing.T) *v1alpha1.Valkey {
	t.Helper()
	vk, err := s.Env.Valkey.ValkeyV1alpha1().Valkeys(s.Namespace).Get(context.WithoutCancel(t.Context()), s.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return vk
}

// WaitReady waits until the Valkey is Ready, with every replica in sync, and, with Sentinels, monitored by all of them.
func (s *Set) WaitReady(t *testing.T, patience time.Duration) {
	t.Helper()
	Eventually(t, patience, s.Name+" is ready", func() error { return s.Ready(t) })
}

// Ready is an error unless the Valkey is Ready: see WaitReady.
func (s *Set) Ready(t *testing.T) error {
	t.Helper()
	vk, err := s.Env.Valkey.ValkeyV1alpha1().Valkeys(s.Namespace).Get(context.WithoutCancel(t.Context()), s.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	st := vk.Status
	switch {
	case st.ObservedGeneration != vk.Generation:
		return fmt.Errorf("status is of generation %d, spec of %d", st.ObservedGeneration, vk.Generation)
	case st.State != v1alpha1.StateReady:
		return fmt.Errorf("state %s: %s: %s", st.State, st.Reason, st.Message)
	case st.ReadyReplicas != vk.Spec.Replicas+1 || st.SyncedReplicas != vk.Spec.Replicas:
		return fmt.Errorf("%d ready, %d synced of 1 + %d", st.ReadyReplicas, st.SyncedReplicas, vk.Spec.Replicas)
	case st.Primary == "":
		return fmt.Errorf("no primary")
	case s.Sentinel != "" && (st.Monitoring == nil || !st.Monitoring.Registered || int(st.Monitoring.AvailableQuorum) != s.Sentinels):
		return fmt.Errorf("monitoring: %+v", st.Monitoring)
	}
	return nil
}

// Patch changes the Valkey by a JSON merge patch.
func (s *Set) Patch(t *testing.T, patch string) {
	t.Helper()
	_, err := s.Env.Valkey.ValkeyV1alpha1().Valkeys(s.Namespace).Patch(context.WithoutCancel(t.Context()), s.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// WaitCondition waits until a condition of the Valkey has the status and its reason or message holds the words.
func (s *Set) WaitCondition(t *testing.T, kind string, status metav1.ConditionStatus, words string, patience time.Duration) {
	t.Helper()
	waitCondition(t, s.Name, func() []metav1.Condition { return s.Get(t).Status.Conditions }, kind, status, words, patience)
}

// waitCondition waits until one of the conditions that an object has by then is as WaitCondition says.
func waitCondition(t *testing.T, name string, conditions func() []metav1.Condition, kind string, status metav1.ConditionStatus, words string, patience time.Duration) {
	t.Helper()
	Eventually(t, patience, fmt.Sprintf("%s: %s is %s: %s", name, kind, status, words), func() error {
		condition := meta.FindStatusCondition(conditions(), kind)
		if condition == nil || condition.Status != status || !strings.Contains(condition.Reason+": "+condition.Message, words) {
			return fmt.Errorf("it is %+v", condition)
		}
		return nil
	})
}

// WaitPrimary waits until status names the primary at an address, and the Valkey is ready; then the Sentinels must say the same.
func (s *Set) WaitPrimary(t *testing.T, addr string, patience time.Duration) {
	t.Helper()
	Eventually(t, patience, "status names "+addr, func() error {
		if got := s.Get(t).Status.PrimaryAddress; got != addr {
			return fmt.Errorf("it names %s", got)
		}
		return s.Ready(t)
	})
	if s.Sentinel != "" {
		s.WaitAgreed(t)
	}
	if got := s.Get(t).Status.PrimaryAddress; got != addr {
		t.Errorf("status named %s, and then %s", addr, got)
	}
}

// Primary is the node that status names.
func (s *Set) Primary(t *testing.T) string {
	t.Helper()
	return s.Get(t).Status.Primary
}

// Replica is a node that status lists as a synced replica.
func (s *Set) Replica(t *testing.T) (node string) {
	t.Helper()
	// The members are as of the controller's last look, which may be older than the last failover.
	Eventually(t, 15*time.Second, "a replica is in sync", func() error {
		status := s.Get(t).Status
		for _, m := range status.Members {
			if m.Role == v1alpha1.RoleReplica && m.Synced && m.Node != status.Primary {
				node = m.Node
				return nil
			}
		}
		return fmt.Errorf("the members are %+v", status.Members)
	})
	return node
}

// Address of a node.
func (s *Set) Address(node string) string {
	return fmt.Sprintf("%s:%d", naming.NodeHost(node, s.Namespace, s.Env.Domain), naming.PortValkey)
}

// PrimaryAddress is the write Service's.
func (s *Set) PrimaryAddress() string {
	return fmt.Sprintf("%s.%s.svc.%s:%d", naming.PrimaryService(s.Name), s.Namespace, s.Env.Domain, naming.PortValkey)
}

// SentinelAddresses are those of the Sentinel pods.
func (s *Set) SentinelAddresses() []string {
	addrs := make([]string, s.Sentinels)
	for i := range addrs {
		addrs[i] = fmt.Sprintf("%s:%d", naming.SentinelHost(s.Sentinel, i, s.Namespace, s.Env.Domain), naming.PortSentinel)
	}
	return addrs
}

// ViaSentinel are the flags of the client pod that lead to the primary through the Sentinels.
func (s *Set) ViaSentinel() []string {
	return []string{"-sentinels", strings.Join(s.SentinelAddresses(), ","), "-name", s.Name}
}

// Route is how a client of the tests finds the primary: through the Sentinels, or where there are none through the write Service.
func (s *Set) Route() []string {
	if s.Sentinels > 0 {
		return s.ViaSentinel()
	}
	return []string{"-addr", s.PrimaryAddress()}
}

// WaitSwitch waits until the Sentinels name another primary than before, and returns its address.
func (s *Set) WaitSwitch(t *testing.T, c *Client, before string, patience time.Duration) string {
	t.Helper()
	return s.WaitSwitchOn(t, c, s.SentinelAddresses(), before, patience)
}

// WaitSwitchOn waits until the first of these Sentinels that answers names another primary than before, and returns its address.
func (s *Set) WaitSwitchOn(t *testing.T, c *Client, sentinels []string, before string, patience time.Duration) string {
	t.Helper()
	var found string
	Eventually(t, patience, strings.Join(sentinels, ", ")+": another primary than "+before+" is named", func() (err error) {
		if found, err = c.Find(t, sentinels, s.Name); err == nil && found == before {
			err = fmt.Errorf("still %s", found)
		}
		return err
	})
	return found
}

// Pod is the pod of a node, or an error.
func (s *Set) Pod(t *testing.T, node string) (*corev1.Pod, error) {
	t.Helper()
	return s.Env.Kube.CoreV1().Pods(s.Namespace).Get(context.WithoutCancel(t.Context()), naming.NodePod(node), metav1.GetOptions{})
}

// ReplacePod deletes a node's pod and waits until another one is there, and ready.
func (s *Set) ReplacePod(t *testing.T, node string) {
	t.Helper()
	old, err := s.Pod(t, node)
	if err != nil {
		t.Fatal(err)
	}
	s.Env.DeletePod(t, s.Namespace, old.Name, 0)
	Eventually(t, 90*time.Second, node+" has another pod, which is ready", func() error {
		pod, err := s.Pod(t, node)
		if err == nil && (pod.UID == old.UID || !PodReady(pod)) {
			err = fmt.Errorf("the pod is %s, ready: %t; the old one was %s", pod.UID, PodReady(pod), old.UID)
		}
		return err
	})
}

// CrashPod freezes a node's server and agent and then deletes the pod: nobody hands over, nobody says farewell, and the pod does not come back as
// it was. What a crash of its machine looks like to the others.
func (s *Set) CrashPod(t *testing.T, node string) {
	t.Helper()
	pod := naming.NodePod(node)
	Cluster(t, "signal", "SIGSTOP", s.Namespace, pod, naming.ContainerServer)
	s.Env.DeletePod(t, s.Namespace, pod, 0)
}

// DeletePod deletes a pod. With a grace of 0 the pod is gone from the API at once, and its processes still have two seconds from SIGTERM on, in
// which an agent hands over.
func (e *Env) DeletePod(t *testing.T, namespace, pod string, grace int64) {
	t.Helper()
	err := e.Kube.CoreV1().Pods(namespace).Delete(context.WithoutCancel(t.Context()), pod, metav1.DeleteOptions{GracePeriodSeconds: &grace})
	if err != nil {
		t.Fatal(err)
	}
}

// SystemPassword is the password of one of the product's own users on the data nodes.
func (s *Set) SystemPassword(t *testing.T, user string) string {
	t.Helper()
	return s.secret(t, naming.SystemPasswordsSecret(s.Name), user)
}

// SentinelPassword is the password of one of the product's own users on the Sentinels.
func (s *Set) SentinelPassword(t *testing.T, user string) string {
	t.Helper()
	return s.secret(t, naming.SentinelPasswordsSecret(s.Sentinel), user)
}

func (s *Set) secret(t *testing.T, name, key string) string {
	t.Helper()
	secret, err := s.Env.Kube.CoreV1().Secrets(s.Namespace).Get(context.WithoutCancel(t.Context()), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data[key])
}

// Failover asks for a failover, again while it is refused for something that passes, such as the end of the last one.
func (s *Set) Failover(t *testing.T, spec v1alpha1.FailoverRequestSpec) v1alpha1.FailoverRequestStatus {
	t.Helper()
	var answer *v1alpha1.Failover
	Eventually(t, 30*time.Second, "the failover is accepted", func() (err error) {
		answer, err = s.Env.Valkey.ValkeyV1alpha1().Valkeys(s.Namespace).Failover(context.WithoutCancel(t.Context()), s.Name, &v1alpha1.Failover{Spec: spec}, metav1.CreateOptions{})
		return err
	})
	if answer.Status.Phase != v1alpha1.OperationSucceeded || answer.Status.From == answer.Status.To {
		t.Fatalf("unexpected answer %+v", answer.Status)
	}
	return answer.Status
}

// WaitAgreed waits until every Sentinel names the same primary, and none is in the middle of a failover.
func (s *Set) WaitAgreed(t *testing.T) {
	t.Helper()
	Eventually(t, 30*time.Second, "the Sentinels agree", func() error {
		list, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).GetMonitors(context.WithoutCancel(t.Context()), s.Sentinel, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, m := range list.Items {
			if m.MonitorName != s.Name {
				continue
			}
			for _, v := range m.Views {
				if !m.Agreed || v.FailoverState != "" || strings.Contains(v.Flags, "failover") {
					return fmt.Errorf("%+v", m)
				}
			}
			return nil
		}
		return fmt.Errorf("no monitor %s", s.Name)
	})
}
