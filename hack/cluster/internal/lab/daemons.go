// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// server lists etcd, kube-apiserver and the forwarder to it.
func (l *Lab) server() ([]state.Daemon, error) {
	c, files := l.cluster, l.pki()
	tool, err := revision(c.Tool())
	if err != nil {
		return nil, err
	}
	return []state.Daemon{
		{Name: "etcd", Netns: c.Netns(), Args: render.Etcd(c, l.cache.Etcd())},
		{Name: "kube-apiserver", Netns: c.Netns(), Args: render.APIServer(c, l.cache.Kubernetes("kube-apiserver"), files)},
		{Name: "forwarder", Netns: c.Netns(), Listen: c.Forwarder(), Revision: tool,
			Args: []string{c.Tool(), "forward", "--to", c.ServerAddress()}},
	}, nil
}

// serverClients lists the daemons of the control plane that work through kube-apiserver.
func (l *Lab) serverClients() ([]state.Daemon, error) {
	c, files, binary := l.cluster, l.pki(), l.cache.Kubernetes
	tool, err := revision(c.Tool())
	if err != nil {
		return nil, err
	}
	return []state.Daemon{
		{Name: "kube-controller-manager", Netns: c.Netns(),
			Args: render.ControllerManager(c, binary("kube-controller-manager"), l.kubeconfigPath("controller-manager"), files)},
		{Name: "kube-scheduler", Netns: c.Netns(), Args: render.Scheduler(binary("kube-scheduler"), l.kubeconfigPath("scheduler"))},
		{Name: "local-volume-provisioner", Netns: c.Netns(), Revision: tool,
			Args: []string{c.Tool(), "provision", "--name", c.Name, "--kubeconfig", l.kubeconfigPath("provisioner")}},
	}, nil
}

// Names of a node's daemons.
func containerdOf(node plan.Node) string { return node.Name + ".containerd" }
func kubeletOf(node plan.Node) string    { return node.Name + ".kubelet" }
func proxyOf(node plan.Node) string      { return node.Name + ".kube-proxy" }

func policyOf(node plan.Node) string { return node.Name + ".netpol" }

func nodeDaemons(node plan.Node) []string {
	return []string{kubeletOf(node), proxyOf(node), policyOf(node), containerdOf(node)}
}

// containerd is a node's container runtime.
func (l *Lab) containerd(node plan.Node) (state.Daemon, error) {
	config := render.PathsOf(node).ContainerdConfig()
	rev, err := revision(config)
	bin := filepath.Join(l.cache.Runtime(), "usr", "bin")
	return state.Daemon{Name: containerdOf(node), Node: node.Name, Netns: node.Netns, Revision: rev,
		Args: []string{filepath.Join(bin, "containerd"), "--config", config},
		// containerd looks for its shim there.
		Env: []string{"PATH=" + bin + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}, err
}

// kubelet is a node's kubelet.
func (l *Lab) kubelet(node plan.Node) (state.Daemon, error) {
	kubeconfig := l.kubeconfigPath(node.Name)
	rev, err := revision(render.PathsOf(node).KubeletConfig(), kubeconfig)
	return state.Daemon{Name: kubeletOf(node), Node: node.Name, Netns: node.Netns, Revision: rev,
		Args: render.KubeletArgs(node, l.cache.Kubernetes("kubelet"), kubeconfig)}, err
}

// proxy is a node's kube-proxy. It is wanted only once the node is registered: it ends when its node's addresses change.
func (l *Lab) proxy(node plan.Node) (state.Daemon, error) {
	config := render.PathsOf(node).ProxyConfig()
	rev, err := revision(config)
	return state.Daemon{Name: proxyOf(node), Node: node.Name, Netns: node.Netns, Revision: rev,
		Args: []string{l.cache.Kubernetes("kube-proxy"), "--config", config}}, err
}

// policy enforces network policies on a node. Like kube-proxy it needs the node's address, so the node must be registered.
func (l *Lab) policy(node plan.Node) (state.Daemon, error) {
	kubeconfig := l.kubeconfigPath("policy")
	rev, err := revision(kubeconfig)
	path := l.cache.Firewall() + ":/usr/sbin:/usr/bin:/sbin:/bin"
	if l.cluster.HasIPv6() {
		path = filepath.Dir(l.restorePath()) + ":" + path
	}
	return state.Daemon{Name: policyOf(node), Node: node.Name, Netns: node.Netns, Revision: rev,
		Args: render.PolicyArgs(l.cluster, node, l.cache.Policy(), kubeconfig),
		// It looks for iptables and ipset there.
		Env: []string{"PATH=" + path}}, err
}

// want writes down daemons and has the supervisor make them so.
func (l *Lab) want(daemons ...state.Daemon) error {
	release, err := l.daemons.Lock()
	if err != nil {
		return err
	}
	defer release()
	for _, daemon := range daemons {
		if _, err := l.daemons.Put(daemon); err != nil {
			return err
		}
	}
	return l.tellSupervisor()
}

func (l *Lab) tellSupervisor() error {
	if supervisor, alive := l.daemons.Running(state.SupervisorName); alive {
		return host.Signal(supervisor, unix.SIGHUP)
	}
	return nil
}

// ensureTool keeps a copy of this program for the cluster's daemons: the one that runs now may be gone tomorrow.
func (l *Lab) ensureTool() error {
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	_, err = state.WriteFile(l.cluster.Tool(), content, 0o755)
	return err
}

// ensureSupervisor starts the supervisor, or another one when it is of an older program.
func (l *Lab) ensureSupervisor() error {
	rev, err := revision(l.cluster.Tool())
	if err != nil {
		return err
	}
	if process, alive := l.daemons.Running(state.SupervisorName); alive {
		if process.Spec == rev {
			return nil
		}
		if err := host.End(process, 5*time.Second); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(l.cluster.Path("logs"), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(l.cluster.Path("logs", "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(l.cluster.Tool(), "enter", "--cgroup", l.cluster.DaemonCgroup(state.SupervisorName),
		"--record", l.daemons.RecordPath(state.SupervisorName), "--spec", rev, "--ignore-hangup", "--",
		l.cluster.Tool(), "supervise", "--name", l.cluster.Name)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
