// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/certificate"
	"github.com/valkeykube/valkeykube/pkg/agent/dataset"
	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/agent/process"
	"github.com/valkeykube/valkeykube/pkg/agent/record"
	"github.com/valkeykube/valkeykube/pkg/agent/resolver"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Agent is one data node's.
type Agent struct {
	options  Options
	resolver *resolver.Resolver
	clients  *valkeyclient.Client
	agents   *probe.Client
	bootID   string
	tls      *certificate.Store
	asking   chan struct{} // holds one token while a request to others is under way

	mu     sync.Mutex
	report probe.Report
	record *record.Record
	// written is the record as it was written last.
	written record.Record
	self    boot.Endpoint
	child   *process.Child
	asked   string                   // what came of the last request to others
	worked  valkeyclient.Credentials // that the own server let in last
}

// Run runs the node until its server ends or a signal asks for the end, and returns the exit code of the container.
func Run(options Options, signals *process.Signals) (int, error) {
	options = options.withDefaults()
	settings, err := options.settings()
	if err != nil {
		return 1, err
	}
	set := newSet(settings, options)
	names, err := resolver.Start(resolver.Options{
		Listen: options.DNSListen, Upstreams: settings.DNS.Upstreams, ClusterDomain: settings.DNS.ClusterDomain,
		Known: known(set.self.Host, options.PodIP), File: filepath.Join(options.RunDir, fileNames), Log: options.Log,
		Names: options.hosts,
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
		options: options, resolver: names, clients: clients, agents: probe.NewClient(names.DialContext, options.AgentPort),
		tls:    &certificate.Store{Mounted: options.TLSDir, Dir: filepath.Join(options.RunDir, dirTLS)},
		bootID: record.BootID(), asking: make(chan struct{}, 1), self: set.self,
		report: probe.Report{
			Name: set.self.Name, Version: options.Version, Phase: probe.PhaseDeciding, Since: time.Now().UTC(), Node: &probe.Node{},
		},
	}
	if err := a.takeCertificate(); err != nil {
		return 1, err
	}
	base, err := options.baseConfig()
	if err != nil {
		return 1, err
	}
	a.remember()
	files := options.files(base)
	files.Stale = a.stored().IsLogStale()
	disk, err := dataset.Look(files)
	if err != nil {
		return 1, err
	}
	a.declare(disk)
	// Only now: peers that saw this node without its data would decide without it.
	probes, err := probe.Serve(options.Listen, a)
	if err != nil {
		return 1, err
	}
	defer probes.Close()
	return a.run(signals, base, disk)
}

// known is the pod's own name, which must resolve whatever becomes of the cluster's DNS.
func known(host, podIP string) map[string][]netip.Addr {
	address, err := netip.ParseAddr(podIP)
	if err != nil {
		return nil
	}
	return map[string][]netip.Addr{host: {address}}
}

func (a *Agent) run(signals *process.Signals, base valkeyconf.Config, disk dataset.Disk) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	decided := make(chan start, 1)
	go func() { decided <- a.decide(ctx, disk) }()
	var begin start
	select {
	case begin = <-decided:
	case <-signals.Stop:
		a.options.Log.Info("asked to stop before the server was started")
		return 0, nil
	}
	if begin.err != nil {
		return 1, begin.err
	}
	if err := a.launch(base, begin, disk); err != nil {
		return 1, err
	}
	go signals.Pass(a.child)
	go a.watch(ctx, begin, base, disk)
	select {
	case <-a.child.Done():
	case <-signals.Stop:
		cancel()
		a.stop(signals)
	}
	code := a.child.ExitCode()
	a.options.Log.Info("the server has ended", "exitCode", code)
	return code, nil
}

// remember loads the record.
func (a *Agent) remember() {
	stored, err := record.Load(a.recordFile(), a.options.Node)
	if err != nil {
		a.options.Log.Warn("the record of this node is lost", "err", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.record = stored
}

// declare tells others what the record and the disk say.
func (a *Agent) declare(disk dataset.Disk) {
	stored := a.stored()
	position, complete := stored.OnDisk(disk, a.bootID)
	a.options.Log.Info("data on disk", "kind", disk.Kind, "offset", position.Offset, "complete", complete, "converts", disk.Converts)
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.report.Node
	n.HasData, n.Position = disk.HasData(), position
	n.WasPrimary = stored != nil && stored.Role == topology.RolePrimary
}

func (a *Agent) recordFile() string { return filepath.Join(a.options.DataDir, fileRecord) }

// launch renders the configuration and starts the server.
func (a *Agent) launch(base valkeyconf.Config, begin start, disk dataset.Disk) error {
	text, err := a.options.render(base, launch{
		self: begin.set.self, listening: a.tls.Listening(begin.set.TLS, begin.set.self.Port), follow: begin.follow, disk: disk, unpromotable: begin.unpromotable,
	})
	if err != nil {
		return fmt.Errorf("render the server's configuration: %w", err)
	}
	// The server writes this file anew when Sentinel tells it to: the directory must be its own.
	path := filepath.Join(a.options.RunDir, fileConfig)
	if err := replaceFile(path, []byte(text)); err != nil {
		return fmt.Errorf("write the server's configuration: %w", err)
	}
	binary := a.options.Server
	if binary == "" {
		if binary, err = process.Find("valkey-server"); err != nil {
			return err
		}
	}
	a.startRecord(begin)
	child, err := process.Start(process.Options{Path: binary, Args: []string{path}, Dir: a.options.DataDir, ReapAll: a.options.ReapAll})
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.child = child
	a.report.Phase, a.report.Since = probe.PhaseRunning, time.Now().UTC()
	_ = os.Remove(filepath.Join(a.options.RunDir, fileDeciding))
	return nil
}

// startRecord notes, before the server runs, that it does: from now on the files on disk are not known to be complete.
func (a *Agent) startRecord(begin start) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := record.Record{Node: a.options.Node}
	if a.record != nil {
		r = *a.record
	}
	r.Clean, r.BootID, r.Primary = false, a.bootID, begin.follow
	r.Role = topology.RolePrimary
	if !begin.follow.IsZero() {
		r.Role = topology.RoleReplica
	}
	// The copy that is loaded stands where the disk says, not where the server once was. An empty one comes from nowhere: with
	// the histories of the lost one it would look like a successor of its peers' data.
	r.Position = a.report.Node.Position
	if !a.report.Node.HasData {
		r.Keys = 0
	}
	a.record = &r
	a.report.Node.WasPrimary = r.Role == topology.RolePrimary
	if err := r.Save(a.recordFile()); err != nil {
		a.options.Log.Warn("the record of this node cannot be written", "err", err)
	}
}

func replaceFile(path string, text []byte) error {
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// update changes what is reported.
func (a *Agent) update(change func(n *probe.Node)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a.report.Node)
}

// Report is for /bootz.
func (a *Agent) Report() probe.Report {
	report := a.current()
	report.Node.Mounts = a.options.mounts()
	return report
}

// current is a copy of what is known, without a look at any file.
func (a *Agent) current() probe.Report {
	a.mu.Lock()
	defer a.mu.Unlock()
	report := a.report
	n := *a.report.Node
	report.Node = &n
	return report
}

// Live is for the liveness probe. While the server loads, copies, or is not started yet for good reasons, a restart of the
// container would only begin that anew.
func (a *Agent) Live() (bool, string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.child != nil && !a.child.Alive() {
		return false, "the server has ended"
	}
	return true, ""
}

// Ready is for the readiness probe.
func (a *Agent) Ready(ctx context.Context) (bool, string) {
	report := a.current()
	if report.Phase == probe.PhaseDeciding {
		return false, decisionText(report.Node.Decision)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	m := a.lookAtSelf(ctx)
	switch {
	case answersOthers(m.Reach.Class) && report.Node.Running != nil:
		return true, "the server does not let the agent in: " + m.Reach.Text // of passwords or maxclients, and no reason to stop traffic
	case m.Loading:
		return false, "loading the dataset"
	case !m.Reach.OK():
		return false, fmt.Sprintf("the server does not answer: %s", m.Reach.Text)
	case m.Role == topology.RoleReplica && !m.LinkUp:
		return false, fmt.Sprintf("replica of %s, not linked (copying: %t)", m.Primary, m.Syncing)
	}
	return true, string(m.Role)
}

func decisionText(d probe.Decision) string {
	if d.Reason == "" {
		return "looking around before the start"
	}
	return fmt.Sprintf("%s: %s", d.Code, d.Reason)
}
