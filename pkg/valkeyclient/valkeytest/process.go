// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Patience is how long tests wait for something that must happen. Generous: machines are shared and slow, and a Sentinel that
// found no good replica at its first attempt waits for twice the failover-timeout before its next.
const Patience = time.Minute

// Process is one running server or Sentinel. Its methods fail the test when they fail.
type Process struct {
	t       testing.TB
	client  *valkeyclient.Client
	binary  Binary
	args    []string
	command *exec.Cmd
	exited  chan struct{}

	// Name appears in logs.
	Name string
	// Dir holds its configuration, data and log.
	Dir     string
	Address valkeyclient.Address
	// Credentials is what Target logs in with, and Encryption how it speaks.
	Credentials valkeyclient.Credentials
	Encryption  valkeyclient.Encryption
}

// Options configures a Process. Binary is required.
type Options struct {
	Binary Binary
	Name   string
	// Config is lines for the configuration file, after ours, so that they win.
	Config []string
	// ACL is lines for the ACL file. None: no ACL file.
	ACL []string
	// Credentials is what the test itself logs in with.
	Credentials valkeyclient.Credentials
	// Encryption is how the test itself speaks to it.
	Encryption valkeyclient.Encryption
	// Port is fixed for a process that must come back where another was; 0 picks a free one.
	Port int
}

// StartServer starts a data server without persistence and waits until it answers.
func StartServer(t testing.TB, options Options) *Process {
	t.Helper()
	return start(t, options, []string{`save ""`, "appendonly no", "repl-diskless-sync-delay 0", "enable-debug-command yes"}, nil)
}

// StartSentinel starts a Sentinel that monitors nothing yet and waits until it answers.
func StartSentinel(t testing.TB, options Options) *Process {
	t.Helper()
	return start(t, options, nil, []string{"--sentinel"})
}

func start(t testing.TB, options Options, config, args []string) *Process {
	t.Helper()
	if options.Port == 0 {
		options.Port = FreePort(t)
	}
	if options.Name == "" {
		options.Name = fmt.Sprintf("valkey-%d", options.Port)
	}
	p := &Process{
		t: t, client: NewClient(t), binary: options.Binary, Name: options.Name, Dir: t.TempDir(),
		Address: valkeyclient.Address{Host: "127.0.0.1", Port: options.Port}, Credentials: options.Credentials,
		Encryption: options.Encryption,
	}
	lines := append([]string{
		"bind 127.0.0.1", fmt.Sprintf("port %d", options.Port), "dir " + p.Dir, "protected-mode no", "daemonize no",
	}, config...)
	if len(options.ACL) > 0 {
		file := filepath.Join(p.Dir, "users.acl")
		p.write(file, options.ACL)
		lines = append(lines, "aclfile "+file)
	}
	file := filepath.Join(p.Dir, "valkey.conf")
	p.write(file, append(lines, options.Config...))
	p.args = append([]string{file}, args...)
	p.Start()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s (%s), end of its log:\n%s", p.Name, p.Address, p.logTail(40))
		}
	})
	return p
}

func (p *Process) write(file string, lines []string) {
	p.t.Helper()
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// Start starts the process (again, after Kill or Exit) and waits until it answers.
func (p *Process) Start() {
	p.t.Helper()
	p.StartAsync()
	deadline := time.Now().Add(Patience)
	for {
		// Only an answer counts: also a refused PING says that the server serves.
		err := p.Node().Ping(p.t.Context())
		if err == nil || !isConnectionFailure(err) {
			return
		}
		select {
		case <-p.exited:
			p.t.Fatalf("%s exited at start:\n%s", p.Name, p.logTail(20))
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not answer: %v\n%s", p.Name, err, p.logTail(20))
		}
	}
}

// StartAsync starts the process and does not wait for it.
func (p *Process) StartAsync() {
	p.t.Helper()
	log, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	p.command = exec.Command(p.binary.Path, p.args...)
	p.command.Stdout, p.command.Stderr = log, log
	// A test binary that is killed must not leave servers behind.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.exited = make(chan struct{})
	go func(command *exec.Cmd, exited chan struct{}) {
		_ = command.Wait()
		_ = log.Close()
		close(exited)
	}(p.command, p.exited)
}

// Kill ends the process at once (SIGKILL) and waits until it is gone. Twice is fine.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// Signal sends SIGTERM and the like.
func (p *Process) Signal(signal syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(signal); err != nil {
		p.t.Fatalf("signal %s to %s: %v", signal, p.Name, err)
	}
}

// Stop freezes the process (SIGSTOP): it accepts connections and answers nothing.
func (p *Process) Stop() { p.t.Helper(); p.Signal(syscall.SIGSTOP) }

// Cont thaws it.
func (p *Process) Cont() { p.t.Helper(); p.Signal(syscall.SIGCONT) }

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Log is all that the process has logged.
func (p *Process) Log() string {
	content, _ := os.ReadFile(p.logFile())
	return string(content)
}

func (p *Process) logFile() string { return filepath.Join(p.Dir, "log") }

func (p *Process) logTail(lines int) []byte {
	all := bytes.Split(bytes.TrimSpace([]byte(p.Log())), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}

// Target is how to reach the process with its own Credentials.
func (p *Process) Target() valkeyclient.Target { return p.TargetAs(p.Credentials) }

// TargetAs is how to reach the process as another user.
func (p *Process) TargetAs(credentials valkeyclient.Credentials) valkeyclient.Target {
	return p.Encryption.On(valkeyclient.Target{Name: p.Name, Address: p.Address.String(), Credentials: credentials})
}

// Node is a client of the data server.
func (p *Process) Node() valkeyclient.Node {
	p.t.Helper()
	node, err := p.client.Node(p.Target())
	if err != nil {
		p.t.Fatal(err)
	}
	return node
}

// Sentinel is a client of the Sentinel.
func (p *Process) Sentinel() valkeyclient.Sentinel {
	p.t.Helper()
	sentinel, err := p.client.Sentinel(p.Target())
	if err != nil {
		p.t.Fatal(err)
	}
	return sentinel
}

// NewClient makes a Client that is closed with the test.
func NewClient(t testing.TB) *valkeyclient.Client {
	client := valkeyclient.New(valkeyclient.Options{ClientName: "valkeytest", CallTimeout: 5 * time.Second, DialTimeout: 5 * time.Second})
	t.Cleanup(client.Close)
	return client
}

// FreePort finds a port that nobody listens on now.
func FreePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// Eventually waits until check returns nil, and fails the test with its last error after Patience.
func Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still after %s: %v", what, Patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
