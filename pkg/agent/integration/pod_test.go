// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// pod is one container of a pod: its agent's process, and the directories that outlive the process, or the pod.
type pod struct {
	set  *set
	kind string
	name string
	dir  string
	// address is where it listens, announced what it is called.
	address, announced valkeyclient.Address

	command *exec.Cmd
	exited  chan struct{}
}

func (p *pod) path(name string) string { return filepath.Join(p.dir, name) }

func (p *pod) put(name, content string) {
	p.set.t.Helper()
	p.set.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o700))
	temporary := p.path(name) + ".new" // as kubelet, which swaps what is mounted
	p.set.must(os.WriteFile(temporary, []byte(content), 0o600))
	p.set.must(os.Rename(temporary, p.path(name)))
}

// start starts the container.
func (p *pod) start() {
	p.set.t.Helper()
	for _, dir := range []string{"run", "data", "state"} {
		p.set.must(os.MkdirAll(p.path(dir), 0o700))
	}
	dnsPort := "0"
	if p.set.options.dns != "" {
		dnsPort = "53"
	}
	agentAddress := net.JoinHostPort(p.address.Host, strconv.Itoa(p.set.agentPort))
	args := []string{
		p.kind, "--config-dir", p.path("config"), "--run-dir", p.path("run"), "--listen", agentAddress,
		"--agent-port", strconv.Itoa(p.set.agentPort), "--dns-listen", net.JoinHostPort(p.address.Host, dnsPort),
		"--server", p.set.options.binary.Path, "--server-host", p.address.Host,
	}
	if p.kind == "node" {
		args = append(args, "--acl-dir", p.path("acl"), "--passwords-dir", p.path("passwords"), "--tls-dir", p.path("tls"), "--data-dir", p.path("data"), "--poll", "100ms")
		args = append(args, p.set.options.flags...)
	} else {
		args = append(args, "--state-dir", p.path("state"))
	}
	log, err := os.OpenFile(p.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	p.set.must(err)
	p.command = exec.Command(os.Args[0], args...)
	p.command.Env = append(os.Environ(), envAgent+"=1", naming.EnvNode+"="+p.name, naming.EnvPodName+"="+p.name, naming.EnvPodIP+"="+p.address.Host)
	p.command.Stdout, p.command.Stderr = log, log
	// A group of its own: the whole container can be killed, also after its first process.
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.set.options.dns != "" {
		p.resolveLocally()
	}
	if p.set.options.networks {
		p.enterNetwork()
	}
	p.set.must(p.command.Start())
	p.exited = make(chan struct{})
	go func(command *exec.Cmd, exited chan struct{}) {
		_ = command.Wait()
		_ = log.Close()
		close(exited)
	}(p.command, p.exited)
}

// kill kills the container.
func (p *pod) kill() {
	if p.command == nil {
		return
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL)
	<-p.exited
	// A container has ended when all its processes have: the server may still hold its port.
	for deadline := time.Now().Add(valkeytest.Patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if listener, err := net.Listen("tcp", fmt.Sprintf(":%d", p.address.Port)); err == nil {
			_ = listener.Close()
			return
		}
	}
}

// killServer kills the server below the agent (SIGKILL) and waits until the container has ended by it.
func (p *pod) killServer() {
	p.set.t.Helper()
	pid := p.command.Process.Pid
	var children []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // children are listed at the thread that started them
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		for _, word := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(word)
			children = append(children, child)
		}
	}
	if len(children) != 1 {
		p.set.t.Fatalf("%s has the children %v", p.name, children)
	}
	p.set.must(syscall.Kill(children[0], syscall.SIGKILL))
	p.awaitExit(137)
}

// stop asks the container to end, as kubelet does.
func (p *pod) stop() {
	p.set.t.Helper()
	p.terminate()
	p.awaitExit(0)
}

func (p *pod) terminate() {
	p.set.t.Helper()
	p.set.must(p.command.Process.Signal(syscall.SIGTERM))
}

func (p *pod) awaitExit(want int) {
	p.set.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(valkeytest.Patience):
		p.set.t.Fatalf("%s does not end", p.name)
	}
	if got := p.command.ProcessState.ExitCode(); got != want {
		p.set.t.Fatalf("%s ended with %d, want %d", p.name, got, want)
	}
}

// replace makes a new pod of the ended one: without what does not outlive it.
func (p *pod) replace() {
	p.set.t.Helper()
	dirs := []string{"run"}
	if !p.set.options.persistent {
		dirs = append(dirs, "data", "state")
	}
	for _, dir := range dirs {
		p.set.must(os.RemoveAll(p.path(dir)))
	}
}

// lose removes a directory of an ended pod, as a volume that is gone.
func (p *pod) lose(dir string) {
	p.set.t.Helper()
	p.set.must(os.RemoveAll(p.path(dir)))
}

// forget removes all that a Sentinel kept.
func (p *pod) forget() { p.lose("state") }

func (p *pod) logTail(lines int) string {
	content, _ := os.ReadFile(p.path("log"))
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}

func (p *pod) log() string { return p.logTail(1 << 30) }

// get asks the agent.
func (p *pod) get(path string) (int, string, error) {
	response, err := http.Get("http://" + net.JoinHostPort(p.address.Host, strconv.Itoa(p.set.agentPort)) + path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(body)), err
}

func (p *pod) report() (probe.Report, error) {
	var report probe.Report
	_, body, err := p.get("/bootz")
	if err == nil {
		err = json.Unmarshal([]byte(body), &report)
	}
	return report, err
}

// ready is nil when the readiness probe succeeds.
func (p *pod) ready() error {
	code, body, err := p.get("/readyz")
	if err == nil && code != http.StatusOK {
		err = fmt.Errorf("%s is not ready: %s", p.name, body)
	}
	return err
}

func (p *pod) target(user string) valkeyclient.Target {
	return p.set.encryption.On(valkeyclient.Target{
		Name: p.name, Address: p.address.String(), Credentials: valkeyclient.Credentials{Username: user, Password: password},
	})
}

func (p *pod) node() valkeyclient.Node {
	p.set.t.Helper()
	node, err := p.set.client.Node(p.target(naming.UserOperator))
	p.set.must(err)
	return node
}

func (p *pod) sentinel() valkeyclient.Sentinel {
	p.set.t.Helper()
	sentinel, err := p.set.client.Sentinel(p.target(naming.UserOperator))
	p.set.must(err)
	return sentinel
}

func (p *pod) role(ctx context.Context) (valkeyclient.RoleReport, error) { return p.node().Role(ctx) }

// eventually waits for it.
func (s *set) eventually(what string, check func(ctx context.Context) error) {
	s.t.Helper()
	valkeytest.Eventually(s.t, what, check)
}

// awaitWhole waits until the pod is the primary, and all other running nodes are its linked, ready replicas.
func (s *set) awaitWhole(primary *pod, running ...*pod) {
	s.t.Helper()
	s.eventually(primary.name+" is the primary of a whole set", func(ctx context.Context) error {
		for _, p := range append([]*pod{primary}, running...) {
			if err := p.ready(); err != nil {
				return err
			}
			role, err := p.role(ctx)
			switch {
			case err != nil:
				return err
			case p == primary && role.Role != valkeyclient.RolePrimary:
				return fmt.Errorf("%s is a %s", p.name, role.Role)
			case p != primary && (role.Role != valkeyclient.RoleReplica || role.Primary != primary.announced):
				return fmt.Errorf("%s is a %s of %s", p.name, role.Role, role.Primary)
			}
		}
		return nil
	})
}

// awaitSentinels waits until each of them names the primary, and knows all its replicas and peers.
func (s *set) awaitSentinels(primary *pod) {
	s.t.Helper()
	s.eventually("the Sentinels know all", func(ctx context.Context) error {
		for _, p := range s.sentinels {
			m, err := p.sentinel().MonitorByName(ctx, monitorName)
			switch {
			case err != nil:
				return err
			case m.Primary != primary.announced || len(m.Flags) != 1:
				return fmt.Errorf("%s names %s, %v", p.name, m.Primary, m.Flags)
			case m.NumReplicas != s.options.replicas || m.NumOtherSentinels != len(s.sentinels)-1:
				return fmt.Errorf("%s knows %d replicas and %d Sentinels", p.name, m.NumReplicas, m.NumOtherSentinels)
			}
			replicas, err := p.sentinel().Replicas(ctx, monitorName)
			if err != nil {
				return err
			}
			for _, replica := range replicas {
				if !replica.LinkUp || len(replica.Flags) != 1 || replica.Priority != 100 {
					return fmt.Errorf("%s sees %s: %v, priority %d", p.name, replica.Address, replica.Flags, replica.Priority)
				}
			}
		}
		return nil
	})
}
