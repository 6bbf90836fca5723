//go:build e2ebench

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const (
	bareContainer = "server"
	bareCount     = 3
)

// A bare pod is not restarted: a server without data that is back before the Sentinels have noticed is a primary again, empty, and its replicas
// become empty too. That would be fast, and is no failover.
const barePod = `
apiVersion: v1
kind: Pod
metadata: {name: %s, labels: {app: bare}}
spec:
  nodeName: %s
  restartPolicy: Never
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: 999, fsGroup: 999, seccompProfile: {type: RuntimeDefault}}
  volumes: [{name: data, emptyDir: {}}]
%s  containers:
  - name: server
    image: %s
    imagePullPolicy: IfNotPresent
    command: [%s]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: data, mountPath: /data}]
---`

// bareSentinelFile is written before a Sentinel starts, which keeps what it learns in it.
const bareSentinelFile = `  initContainers:
  - name: file
    image: valkeykube/testclient:dev
    imagePullPolicy: IfNotPresent
    args: [put, /data/sentinel.conf, "sentinel monitor main %s 6379 2\nsentinel down-after-milliseconds main %d\nsentinel failover-timeout main 10000\n"]
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
    volumeMounts: [{name: data, mountPath: /data}]
`

// bare is a primary, two replicas and three Sentinels with nothing of the product, addressed by IP.
type bare struct {
	f         *failovers
	sentinels []string
}

// startBare brings one up, the primary on the first machine. Each run has one of its own, so that none remembers an earlier fault.
func startBare(t *testing.T, f *failovers, machines []string) *bare {
	t.Helper()
	b := &bare{f: f}
	primary := b.start(t, []string{pod(serverName(0), machines[0], "", f.image, "valkey-server", "--protected-mode", "no", "--save", "")})[0]
	var more []string
	for i := 1; i < bareCount; i++ {
		more = append(more, pod(serverName(i), machines[i], "", f.image, "valkey-server", "--protected-mode", "no", "--save", "", "--replicaof", primary+" 6379"))
	}
	for i := range bareCount {
		file := fmt.Sprintf(bareSentinelFile, primary, f.after.Milliseconds())
		more = append(more, pod(fmt.Sprintf("bare-sentinel-%d", i), machines[i], file, f.image, "valkey-sentinel", "/data/sentinel.conf", "--protected-mode", "no"))
	}
	for _, ip := range b.start(t, more)[bareCount-1:] {
		b.sentinels = append(b.sentinels, net.JoinHostPort(ip, "26379"))
	}
	for _, sentinel := range b.sentinels {
		framework.Eventually(t, 2*time.Minute, sentinel+" knows them all", func() error {
			out, err := f.client.Do(t, sentinel, "SENTINEL", "MASTER", "main")
			if err == nil && (!strings.Contains(out, "num-slaves\n2\n") || !strings.Contains(out, "num-other-sentinels\n2\n") || !strings.Contains(out, "flags\nmaster\n")) {
				err = fmt.Errorf("it says %s", out)
			}
			return err
		})
	}
	framework.Eventually(t, time.Minute, "both bare replicas are in sync", func() error {
		out, err := f.client.Do(t, net.JoinHostPort(primary, "6379"), "INFO", "replication")
		if err == nil && strings.Count(out, "state=online") != bareCount-1 {
			err = fmt.Errorf("it says %s", out)
		}
		return err
	})
	return b
}

func serverName(i int) string { return fmt.Sprintf("bare-%d", i) }

func pod(name, machine, file, image string, command ...string) string {
	quoted := make([]string, len(command))
	for i, word := range command {
		quoted[i] = fmt.Sprintf("%q", word)
	}
	return fmt.Sprintf(barePod, name, machine, file, image, strings.Join(quoted, ", "))
}

// start applies pods and returns their addresses, in order.
func (b *bare) start(t *testing.T, pods []string) []string {
	t.Helper()
	framework.Apply(t, b.f.ns, strings.Join(pods, "\n"))
	framework.Kubectl(t, "wait", "-n", b.f.ns, "--for=condition=Ready", "pod", "-l", "app=bare", "--timeout=90s")
	ips := make([]string, len(pods))
	for i, manifest := range pods {
		_, name, _ := strings.Cut(manifest, "{name: ")
		name, _, _ = strings.Cut(name, ",")
		found, err := b.f.env.Kube.CoreV1().Pods(b.f.ns).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ips[i] = found.Status.PodIP
	}
	return ips
}

func (b *bare) primary() string { return serverName(0) }

func (b *bare) route() []string {
	return []string{"-sentinels", strings.Join(b.sentinels, ","), "-name", "main"}
}

// remove takes it away. After a partition its machine has to be back for that.
func (b *bare) remove(t *testing.T) {
	t.Helper()
	b.f.env.WaitWhole(t)
	framework.Kubectl(t, "delete", "pod", "-n", b.f.ns, "-l", "app=bare", "--grace-period=0", "--force", "--wait", "--timeout=90s")
}
