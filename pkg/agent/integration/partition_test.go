// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const bridge = "pods"

func ipTool(t *testing.T, args ...string) {
	t.Helper()
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, output)
	}
}

// layBridge is the network that all pods are on, with the test. The names of networks are files: nobody else sees these.
func layBridge(t *testing.T) (network string) {
	t.Helper()
	for _, mount := range [][]string{{"--make-rprivate", "/"}, {"-t", "tmpfs", "none", "/run"}} {
		if output, err := exec.Command("mount", mount...).CombinedOutput(); err != nil {
			t.Fatalf("mount %v: %v\n%s", mount, err, output)
		}
	}
	network = "10.77.0"
	ipTool(t, "link", "add", bridge, "type", "bridge")
	ipTool(t, "address", "add", network+".1/24", "dev", bridge)
	ipTool(t, "link", "set", bridge, "up")
	return network
}

func (p *pod) port() string { return "v" + strings.TrimPrefix(p.address.Host, "10.77.0.") }

func (p *pod) plugIn() {
	t := p.set.t
	t.Helper()
	ipTool(t, "netns", "add", p.name)
	ipTool(t, "link", "add", p.port(), "type", "veth", "peer", "name", "eth0", "netns", p.name)
	ipTool(t, "-n", p.name, "address", "add", p.address.Host+"/24", "dev", "eth0")
	ipTool(t, "-n", p.name, "link", "set", "lo", "up")
	ipTool(t, "-n", p.name, "link", "set", "eth0", "up")
	ipTool(t, "link", "set", p.port(), "master", bridge, "up")
}

// enterNetwork starts the container in the pod's network.
func (p *pod) enterNetwork() {
	path, err := exec.LookPath("ip")
	p.set.must(err)
	p.command.Args = append([]string{path, "netns", "exec", p.name}, p.command.Args...)
	p.command.Path = path
}

// cut loses all packets from and to the pod, without a word to anybody.
func (p *pod) cut() { ipTool(p.set.t, "link", "set", p.port(), "nomaster") }

func (p *pod) heal() { ipTool(p.set.t, "link", "set", p.port(), "master", bridge) }

// dialBeside connects to the pod's server from within its network.
func (p *pod) dialBeside() (net.Conn, error) {
	type result struct {
		connection net.Conn
		err        error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which is in another network, ends with this
		connection, err := func() (net.Conn, error) {
			network, err := os.Open("/run/netns/" + p.name)
			if err != nil {
				return nil, err
			}
			defer func() { _ = network.Close() }()
			if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil { //nolint:gosec // a file descriptor
				return nil, err
			}
			return net.DialTimeout("tcp", p.address.String(), time.Second)
		}()
		done <- result{connection, err}
	}()
	r := <-done
	return r.connection, r.err
}

// writer writes to one server, from beside it, whatever it answers.
type writer struct {
	stop chan struct{}
	done sync.WaitGroup

	mu    sync.Mutex
	acked []write
	last  string // answer
}

// write is one that was acknowledged.
type write struct {
	key string
	at  time.Time
}

func (p *pod) startWriter() *writer {
	p.set.t.Helper()
	w := &writer{stop: make(chan struct{})}
	w.done.Go(func() {
		for n := 0; ; {
			n = w.write(p, n)
			select {
			case <-w.stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	p.set.t.Cleanup(w.end)
	return w
}

func (w *writer) write(p *pod, n int) int {
	connection, err := p.dialBeside()
	if err != nil {
		return n
	}
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReader(connection)
	for ; ; n++ {
		key := fmt.Sprintf("beside:%d", n)
		_ = connection.SetDeadline(time.Now().Add(2 * time.Second))
		_, _ = fmt.Fprintf(connection, "SET %s 1\r\n", key)
		answer, err := reader.ReadString('\n')
		if err != nil {
			return n + 1
		}
		w.mu.Lock()
		if w.last = strings.TrimSpace(answer); w.last == "+OK" {
			w.acked = append(w.acked, write{key, time.Now()})
		}
		w.mu.Unlock()
		select {
		case <-w.stop:
			return n + 1
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (w *writer) end() {
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.done.Wait()
}

// answer is the last one.
func (w *writer) answer() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// since counts what was acknowledged since then, and tells when the last was.
func (w *writer) since(when time.Time) (count int, last time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, acked := range w.acked {
		if acked.at.After(when) {
			count, last = count+1, acked.at
		}
	}
	return count, last
}
