// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"

	"github.com/valkeykube/valkeykube/cmd/apiserver/app"
)

// asServer makes this test binary be the API server's binary.
const asServer = "VALKEY_APISERVER_TEST_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(cli.Run(app.NewCommand(genericapiserver.SetupSignalContext())))
	}
	os.Exit(m.Run())
}

// process is an API server in a process of its own, as in a pod.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	// err is how it ended, once ended is closed.
	err error

	mu  sync.Mutex
	log bytes.Buffer
}

// Write collects what the process prints.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// command runs the API server's binary with these arguments to its end.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	run := exec.CommandContext(t.Context(), os.Args[0], args...)
	run.Env = append(os.Environ(), asServer+"=1")
	output, err := run.CombinedOutput()
	return string(output), err
}

// start starts a server process on the cluster's port, with the flags of the manifests' Deployment and then args.
func (c *cluster) start(t *testing.T, dataDir string, args ...string) *process {
	t.Helper()
	port := c.listener.Addr().(*net.TCPAddr).Port
	_ = c.listener.Close()
	all := append([]string{
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port), "--data-dir=" + dataDir,
		"--tls-cert-file=" + c.certificate, "--tls-private-key-file=" + c.key, "--kubeconfig=" + c.kubeconfig,
		"--authentication-kubeconfig=" + c.kubeconfig, "--authorization-kubeconfig=" + c.kubeconfig, "--namespace=" + c.namespace,
	}, args...)
	p := &process{ended: make(chan struct{}), command: exec.CommandContext(t.Context(), os.Args[0], all...)}
	p.command.Env = append(os.Environ(), asServer+"=1")
	p.command.Stdout, p.command.Stderr = p, p
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("the server's log:\n%s", p.output())
		}
	})
	return p
}

// terminate asks it to stop, as a kubelet does, and returns how long that took.
func (p *process) terminate(t *testing.T) time.Duration {
	t.Helper()
	started := time.Now()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(90 * time.Second):
		t.Fatal("it does not stop")
	}
	if p.err != nil {
		t.Errorf("it ended with %v", p.err)
	}
	return time.Since(started)
}

// deploymentFlags are the flags of the manifest that begin with prefix.
func deploymentFlags(t *testing.T, file, prefix string) []string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	for line := range strings.Lines(string(content)) {
		if flag, is := strings.CutPrefix(strings.TrimSpace(line), "- "); is && strings.HasPrefix(flag, prefix) {
			flags = append(flags, flag)
		}
	}
	if len(flags) == 0 {
		t.Fatalf("%s has no flags %s", file, prefix)
	}
	return flags
}
