// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

var update = flag.Bool("update", false, "write the golden files")

type fakeFiles struct{}

func (fakeFiles) Cert(name string) string   { return "/pki/" + name + ".crt" }
func (fakeFiles) Key(name string) string    { return "/pki/" + name + ".key" }
func (fakeFiles) Public(name string) string { return "/pki/" + name + ".pub" }

func demo(t *testing.T) plan.Cluster {
	t.Helper()
	c, err := plan.New("demo", 1, plan.Shape{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// dual is what a cluster with addresses of both kinds and another domain has that others have not.
func dual(t *testing.T) []byte {
	t.Helper()
	c, err := plan.New("demo", 1, plan.Shape{Domain: "k8s.example", Family: plan.Dual})
	if err != nil {
		t.Fatal(err)
	}
	node := c.Nodes[1]
	cni, err := CNI(c, node)
	if err != nil {
		t.Fatal(err)
	}
	text := string(cni) + "\n" + string(Kubelet(c, node, NodeFiles{})) + string(Proxy(c, node, ""))
	for _, args := range [][]string{APIServer(c, "", fakeFiles{}), ControllerManager(c, "", "", fakeFiles{}), KubeletArgs(node, "", ""), PolicyArgs(c, node, "", "")} {
		text += strings.Join(args, "\n") + "\n"
	}
	var differing []string
	for line := range strings.Lines(text) {
		for _, mark := range []string{"fd98", "k8s.example", "enable-ip", "dst"} {
			if strings.Contains(line, mark) {
				differing = append(differing, line)
				break
			}
		}
	}
	return []byte(strings.Join(differing, ""))
}

func TestGolden(t *testing.T) {
	c := demo(t)
	node := c.Nodes[1]
	cni, err := CNI(c, node)
	if err != nil {
		t.Fatal(err)
	}
	lines := func(args []string) []byte { return []byte(strings.Join(args, "\n") + "\n") }
	files := fakeFiles{}
	for name, content := range map[string][]byte{
		"containerd.toml":         Containerd(node, "/cache/cni"),
		"cni.json":                cni,
		"kubelet.yaml":            Kubelet(c, node, NodeFiles{ClientCA: "/pki/ca.crt", ServerCert: "/pki/s.crt", ServerKey: "/pki/s.key"}),
		"kube-proxy.yaml":         Proxy(c, node, "/etc/proxy.kubeconfig"),
		"kubeconfig":              Kubeconfig("demo", c.Server(), "admin", []byte("ca"), []byte("cert"), []byte("key")),
		"audit-policy.yaml":       AuditPolicy(),
		"etcd":                    lines(Etcd(c, "/bin/etcd")),
		"kube-apiserver":          lines(APIServer(c, "/bin/kube-apiserver", files)),
		"kube-controller-manager": lines(ControllerManager(c, "/bin/kube-controller-manager", "/etc/cm.kubeconfig", files)),
		"kube-scheduler":          lines(Scheduler("/bin/kube-scheduler", "/etc/s.kubeconfig")),
		"netpol":                  lines(PolicyArgs(c, node, "/bin/netpol", "/etc/policy.kubeconfig")),
		"kubelet":                 lines(KubeletArgs(node, "/bin/kubelet", "/etc/node-2.kubeconfig")),
		"dual":                    dual(t),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(content) {
				t.Errorf("differs from %s (write it anew with -update):\n%s", path, content)
			}
		})
	}
}

// Two nodes on one machine must not write to the same place.
func TestNodesShareNoPlace(t *testing.T) {
	c := demo(t)
	for _, node := range c.Nodes[1:] {
		other := c.Nodes[0]
		for _, content := range [][]byte{Containerd(node, "/cache/cni"), Kubelet(c, node, NodeFiles{})} {
			if strings.Contains(string(content), other.Dir+"/") || strings.Contains(string(content), other.Cgroup+"\"") {
				t.Errorf("%s names a place of %s:\n%s", node.Name, other.Name, content)
			}
		}
	}
}

// Whatever containerd is not told stays at a place of the whole machine.
func TestContainerdIsKeptInTheNodesFolder(t *testing.T) {
	node := demo(t).Nodes[0]
	for line := range strings.Lines(string(Containerd(node, "/cache/cni"))) {
		key, value, found := strings.Cut(strings.TrimSpace(line), " = ")
		value = strings.Trim(value, "[]\"")
		if found && strings.HasPrefix(value, "/") && key != "bin_dirs" && !strings.HasPrefix(value, node.Dir+"/") {
			t.Errorf("%s is outside of the node's folder: %s", key, value)
		}
	}
}

func TestPodNetworkIsTheNodesOwn(t *testing.T) {
	c := demo(t)
	content, err := CNI(c, c.Nodes[2])
	if err != nil {
		t.Fatal(err)
	}
	var conf struct {
		Plugins []struct {
			IPAM struct {
				Ranges [][]struct{ Subnet string }
			}
		}
	}
	if err := json.Unmarshal(content, &conf); err != nil {
		t.Fatal(err)
	}
	if got := conf.Plugins[0].IPAM.Ranges[0][0].Subnet; got != c.Nodes[2].PodRanges[0] {
		t.Errorf("subnet %s, want %s", got, c.Nodes[2].PodRanges[0])
	}
}
