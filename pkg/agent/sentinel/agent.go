// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/certificate"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/process"
	"github.com/valkeykube/valkeykube/pkg/agent/resolver"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

const (
	// dirState is made below the state directory, whose own rights are the volume's: the file in it holds passwords, and Sentinel
	// writes it anew for everybody to read.
	dirState  = "state"
	fileState = "sentinel.conf"
	fileNames = "names.json"
	dirTLS    = "tls"
	// startTime is how long a Sentinel takes at most to find something wrong in its file.
	startTime = 2 * time.Second
)

// Agent is one Sentinel's.
type Agent struct {
	options  Options
	settings boot.Sentinel
	self     boot.Endpoint
	myID     string
	clients  *valkeyclient.Client
	agents   *probe.Client
	tls      *certificate.Store
	// own is what this Sentinel's file said before it was written anew.
	own state

	mu    sync.Mutex
	phase probe.Phase
	since time.Time
	child *process.Child
	// What is told to others in a cold start; see probe.Sentinel.
	proposed, settled []probe.Monitor
}

// Run runs the Sentinel until it ends or a signal asks for the end, and returns the exit code of the container.
func Run(options Options, signals *process.Signals) (int, error) {
	options = options.withDefaults()
	settings, err := readSettings(options.ConfigDir)
	if err != nil {
		return 1, err
	}
	me, err := self(settings, options.Pod)
	if err != nil {
		return 1, err
	}
	names, err := resolver.Start(resolver.Options{
		Listen: options.DNSListen, Upstreams: settings.DNS.Upstreams, ClusterDomain: settings.DNS.ClusterDomain,
		Known: known(me.Host, options.PodIP), File: filepath.Join(options.RunDir, fileNames), Log: options.Log,
		Names: func() []string { return hosts(options.ConfigDir) },
	})
	if err != nil {
		return 1, err
	}
	defer names.Close()
	clients := valkeyclient.New(valkeyclient.Options{
		Dialer: names.DialContext, ClientName: "valkey-agent", CallTimeout: 2 * probeTimeout, DialTimeout: probeTimeout,
	})
	defer clients.Close()
	a := &Agent{
		options: options, settings: settings, self: me, myID: naming.SentinelID(settings.SetUID, options.Pod),
		clients: clients, agents: probe.NewClient(names.DialContext, options.AgentPort), phase: probe.PhaseDeciding, since: time.Now().UTC(),
		tls: &certificate.Store{Mounted: options.TLSDir, Dir: filepath.Join(options.RunDir, dirTLS)},
	}
	if _, err := a.tls.Take(); err != nil {
		if a.tls.Encryption().Config == nil {
			return 1, err
		}
		options.Log.Error("the mounted certificate is not used: the Sentinel goes on with the one before", "err", err)
	}
	if a.own, err = a.stored(); err != nil {
		options.Log.Warn("what this Sentinel remembered is lost", "err", err)
	}
	probes, err := probe.Serve(options.Listen, a)
	if err != nil {
		return 1, err
	}
	defer probes.Close()
	return a.run(signals)
}

func readSettings(dir string) (boot.Sentinel, error) {
	text, err := os.ReadFile(filepath.Join(dir, naming.KeyBoot))
	if err != nil {
		return boot.Sentinel{}, fmt.Errorf("boot settings: %w", err)
	}
	return boot.Decode[boot.Sentinel](text)
}

// hosts are all whom the Sentinel speaks to, by the settings as they are now.
func hosts(dir string) []string {
	settings, err := readSettings(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, peer := range settings.Peers {
		names = append(names, peer.Host)
	}
	for _, monitor := range settings.Monitors {
		for _, member := range monitor.Members {
			names = append(names, member.Host)
		}
	}
	return names
}

func known(host, podIP string) map[string][]netip.Addr {
	address, err := netip.ParseAddr(podIP)
	if err != nil {
		return nil
	}
	return map[string][]netip.Addr{host: {address}}
}

func (a *Agent) stateDir() string { return filepath.Join(a.options.StateDir, dirState) }

func (a *Agent) stateFile() string { return filepath.Join(a.stateDir(), fileState) }

// stored is what the file says. One of another identity, as on a volume that was someone else's, says nothing.
func (a *Agent) stored() (state, error) {
	text, err := os.ReadFile(a.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	s, err := readState(string(text))
	if err != nil || s.myID != a.myID {
		return state{}, err
	}
	return s, nil
}

func (a *Agent) run(signals *process.Signals) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	settledOn := make(chan rendering, 1)
	go func() {
		m, primaries := a.settle(ctx)
		if len(m.running) == 0 {
			a.hold(ctx, primaries)
		}
		settledOn <- rendering{
			settings: a.settings, self: a.self, myID: a.myID, stateDir: a.stateDir(),
			listening: a.tls.Listening(a.settings.TLS, a.self.Port), memory: m, primaries: primaries, log: a.options.Log,
		}
	}()
	var r rendering
	select {
	case r = <-settledOn:
	case <-signals.Stop:
		a.options.Log.Info("asked to stop before the Sentinel was started")
		return 0, nil
	}
	if err := a.launch(r); err != nil {
		return 1, err
	}
	go a.keepPace(ctx)
	if a.diesAtOnce(signals) && len(r.settings.Config) > 0 {
		a.options.Log.Error("the Sentinel does not start: once more without the user's configuration")
		r.settings.Config = nil
		if err := a.launch(r); err != nil {
			return 1, err
		}
	}
	child := a.running()
	go signals.Pass(child)
	go a.keepCertificate(ctx)
	select {
	case <-child.Done():
	case <-signals.Stop:
		a.stop(signals, child)
	}
	code := child.ExitCode()
	a.options.Log.Info("the Sentinel has ended", "exitCode", code)
	return code, nil
}

func (a *Agent) running() *process.Child {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.child
}

// diesAtOnce tells whether the Sentinel refused to start, as it does with a value that it does not know.
func (a *Agent) diesAtOnce(signals *process.Signals) bool {
	child := a.running()
	select {
	case <-child.Done():
		return child.ExitCode() == 1
	case <-signals.Stop:
		a.stop(signals, child)
	case <-time.After(startTime):
	}
	return false
}

func (a *Agent) launch(r rendering) error {
	a.options.Log.Info("starting the Sentinel", "id", a.myID, "monitors", len(r.primaries), "peersThatRun", len(r.memory.running), "epoch", r.memory.currentEpoch())
	for name, s := range r.primaries {
		a.options.Log.Info("monitor", "name", name, "primary", s.primary.String(), "epoch", s.configEpoch, "source", s.source)
	}
	binary, err := a.binary()
	if err != nil {
		return err
	}
	r.reloads = r.reloads || a.reloads(binary)
	if file := aclFile(a.options.ConfigDir); exists(file) {
		r.aclFile = file
	}
	text, err := r.text()
	if err != nil {
		return fmt.Errorf("render the Sentinel's file: %w", err)
	}
	if err := os.MkdirAll(a.stateDir(), 0o700); err != nil {
		return err
	}
	if err := replaceFile(a.stateFile(), []byte(text)); err != nil {
		return err
	}
	child, err := process.Start(process.Options{
		Path: binary, Args: []string{a.stateFile(), "--sentinel"}, Dir: a.stateDir(), ReapAll: a.options.ReapAll,
	})
	if err != nil {
		return err
	}
	a.setPhase(probe.PhaseRunning)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.child, a.proposed, a.settled = child, nil, nil
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func replaceFile(path string, text []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

func (a *Agent) setPhase(phase probe.Phase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase, a.since = phase, time.Now().UTC()
}

// Report is for /bootz: while the Sentinel runs, what its file says now.
func (a *Agent) Report() probe.Report {
	a.mu.Lock()
	report := probe.Report{Name: a.self.Name, Version: a.options.Version, Phase: a.phase, Since: a.since}
	a.mu.Unlock()
	s := a.own
	if report.Phase != probe.PhaseDeciding {
		if now, err := a.stored(); err == nil {
			s = now
		}
	}
	report.Sentinel = s.report()
	a.mu.Lock()
	defer a.mu.Unlock()
	report.Sentinel.Proposed, report.Sentinel.Settled = a.proposed, a.settled
	return report
}

// Live is for the liveness probe.
func (a *Agent) Live() (bool, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.child != nil && !a.child.Alive() {
		return false, "the Sentinel has ended"
	}
	return true, ""
}

// target is the agent's own Sentinel, without a login.
func (a *Agent) target() valkeyclient.Target {
	return a.encryption().On(valkeyclient.Target{
		Name: a.self.Name, Address: valkeyclient.Address{Host: a.options.ServerHost, Port: a.self.Port}.String(),
	})
}

// encryption is how to speak to servers and to the own Sentinel: while plaintext is served anywhere, they may speak either.
func (a *Agent) encryption() valkeyclient.Encryption {
	e := a.tls.Encryption()
	e.Mixed = a.settings.TLS == nil || a.settings.TLS.Plaintext
	return e
}

// Ready is for the readiness probe. The agent has no login here, and needs none: a Sentinel that refuses it answers.
func (a *Agent) Ready(ctx context.Context) (bool, string) {
	a.mu.Lock()
	phase := a.phase
	a.mu.Unlock()
	if phase == probe.PhaseDeciding {
		return false, "asking peers and members whom to monitor"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	client, err := a.clients.Sentinel(a.target())
	if err == nil {
		err = client.Ping(ctx)
	}
	if err == nil || errors.Is(err, valkeyclient.ErrAuth) || errors.Is(err, valkeyclient.ErrPermission) {
		return true, ""
	}
	return false, "the Sentinel does not answer: " + err.Error()
}
