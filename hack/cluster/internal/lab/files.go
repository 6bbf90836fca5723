// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/pki"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/render"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Users of kube-apiserver, by the name of their certificate.
const (
	adminUser       = "kubernetes-admin"
	provisionerUser = "valkeykube:local-volume-provisioner"
	policyUser      = "valkeykube:netpol"
)

// ensureCertificates makes what is missing.
func (l *Lab) ensureCertificates() error {
	store, c := l.pki(), l.cluster
	for _, authority := range []string{"ca", "front-proxy-ca"} {
		if err := store.Authority(authority); err != nil {
			return err
		}
	}
	if err := store.KeyPair("service-accounts"); err != nil {
		return err
	}
	if err := store.Issue("front-proxy-ca", pki.Certificate{Name: "front-proxy-client", User: "front-proxy-client"}); err != nil {
		return err
	}
	certificates := []pki.Certificate{
		{Name: "apiserver", User: "kube-apiserver", Hosts: append(c.Addresses(),
			"127.0.0.1", "localhost", c.APIService(), "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc."+c.Domain)},
		{Name: "apiserver-kubelet", User: "kube-apiserver-kubelet-client", Groups: []string{"system:masters"}},
		{Name: "admin", User: adminUser, Groups: []string{"system:masters"}},
		{Name: "controller-manager", User: "system:kube-controller-manager"},
		{Name: "scheduler", User: "system:kube-scheduler"},
		{Name: "proxy", User: "system:kube-proxy"},
		{Name: "provisioner", User: provisionerUser},
		{Name: "policy", User: policyUser},
	}
	for _, node := range c.Nodes {
		certificates = append(certificates,
			pki.Certificate{Name: node.Name, User: "system:node:" + node.Name, Groups: []string{"system:nodes"}},
			pki.Certificate{Name: node.Name + "-serving", User: "system:node:" + node.Name, Groups: []string{"system:nodes"},
				Hosts: append([]string{node.Name}, node.Addresses...)})
	}
	for _, certificate := range certificates {
		if err := store.Issue("ca", certificate); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfigPath is the kubeconfig of a daemon.
func (l *Lab) kubeconfigPath(name string) string { return l.cluster.Path("etc", name+".kubeconfig") }

// restorePath is the ip6tables-restore that the enforcer of network policies finds first.
func (l *Lab) restorePath() string { return l.cluster.Path("firewall", "ip6tables-restore") }

// ensureFiles writes the configuration of all daemons and returns a revision of it for each.
func (l *Lab) ensureFiles() error {
	c, store := l.cluster, l.pki()
	if err := l.writeKubeconfig(c.Kubeconfig(), "https://"+c.Forwarder(), "admin"); err != nil {
		return err
	}
	for _, name := range []string{"controller-manager", "scheduler", "proxy", "provisioner", "policy"} {
		if err := l.writeKubeconfig(l.kubeconfigPath(name), c.Server(), name); err != nil {
			return err
		}
	}
	files := map[string][]byte{c.Path("etc", "audit-policy.yaml"): render.AuditPolicy()}
	for _, node := range c.Nodes {
		if err := l.writeKubeconfig(l.kubeconfigPath(node.Name), c.Server(), node.Name); err != nil {
			return err
		}
		cni, err := render.CNI(c, node)
		if err != nil {
			return err
		}
		p := render.PathsOf(node)
		for _, dir := range []string{p.Kubelet(), p.Logs(), p.ContainerdRoot(), p.ContainerdState(), p.CNIState(), node.Volumes, node.Dir + "/tmp"} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		files[p.ContainerdConfig()] = render.Containerd(node, l.cache.CNI())
		files[p.CNIConfig()+"/10-lab.conflist"] = cni
		files[p.KubeletConfig()] = render.Kubelet(c, node, render.NodeFiles{ClientCA: store.Cert("ca"),
			ServerCert: store.Cert(node.Name + "-serving"), ServerKey: store.Key(node.Name + "-serving")})
		files[p.ProxyConfig()] = render.Proxy(c, node, l.kubeconfigPath("proxy"))
	}
	if c.HasIPv6() {
		restore := render.Restore(l.cache.Firewall() + "/" + filepath.Base(l.restorePath()))
		if _, err := state.WriteFile(l.restorePath(), restore, 0o755); err != nil {
			return err
		}
	}
	for path, content := range files {
		if _, err := state.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) writeKubeconfig(path, server, certificate string) error {
	store := l.pki()
	var parts [3][]byte
	for i, file := range []string{store.Cert("ca"), store.Cert(certificate), store.Key(certificate)} {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		parts[i] = content
	}
	_, err := state.WriteFile(path, render.Kubeconfig(l.cluster.Name, server, certificate, parts[0], parts[1], parts[2]), 0o600)
	return err
}

// revision identifies the content of files.
func revision(paths ...string) (string, error) {
	hash := sha256.New()
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%d ", len(content))
		hash.Write(content)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:12], nil
}
