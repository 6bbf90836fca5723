// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"strings"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

const etcdURL = "http://127.0.0.1:2379"

// Files gives the paths of certificates and keys by name.
type Files interface {
	Cert(name string) string
	Key(name string) string
	Public(name string) string
}

// Etcd is etcd's command line. It listens on the loopback interface of the control plane's namespace, where no pod gets.
// Writes are not forced to the disk: the cluster does not outlive the machine's run.
func Etcd(c plan.Cluster, binary string) []string {
	return []string{binary,
		"--name=etcd",
		"--data-dir=" + c.Path("etcd"),
		"--listen-client-urls=" + etcdURL,
		"--advertise-client-urls=" + etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=etcd=http://127.0.0.1:2380",
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--log-level=warn",
	}
}

// APIServer is kube-apiserver's command line. Aggregator routing makes it reach extension servers and webhooks at the
// addresses of their pods: no kube-proxy serves the control plane's namespace.
func APIServer(c plan.Cluster, binary string, files Files) []string {
	return []string{binary,
		"--etcd-servers=" + etcdURL,
		"--bind-address=" + c.Addresses()[0],
		"--advertise-address=" + c.Addresses()[0],
		fmt.Sprintf("--secure-port=%d", plan.APIPort),
		"--service-cluster-ip-range=" + strings.Join(c.ServiceRanges(), ","),
		"--allow-privileged=true",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=" + files.Cert("ca"),
		"--tls-cert-file=" + files.Cert("apiserver"),
		"--tls-private-key-file=" + files.Key("apiserver"),
		"--kubelet-client-certificate=" + files.Cert("apiserver-kubelet"),
		"--kubelet-client-key=" + files.Key("apiserver-kubelet"),
		"--kubelet-certificate-authority=" + files.Cert("ca"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc." + c.Domain,
		"--service-account-key-file=" + files.Public("service-accounts"),
		"--service-account-signing-key-file=" + files.Key("service-accounts"),
		"--requestheader-client-ca-file=" + files.Cert("front-proxy-ca"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + files.Cert("front-proxy-client"),
		"--proxy-client-key-file=" + files.Key("front-proxy-client"),
		"--enable-aggregator-routing=true",
		"--audit-policy-file=" + c.Path("etc", "audit-policy.yaml"),
		"--audit-log-path=" + c.AuditLog(),
		"--audit-log-maxsize=200",
		"--audit-log-maxbackup=2",
	}
}

// ControllerManager is kube-controller-manager's command line. Its timings are Kubernetes' own. It is the only one, so it
// elects no leader and is back at once after a restart.
func ControllerManager(c plan.Cluster, binary, kubeconfig string, files Files) []string {
	return []string{binary,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file=" + files.Key("service-accounts"),
		"--root-ca-file=" + files.Cert("ca"),
		"--cluster-signing-cert-file=" + files.Cert("ca"),
		"--cluster-signing-key-file=" + files.Key("ca"),
		"--flex-volume-plugin-dir=" + c.Path("volume-plugins"),
		"--service-cluster-ip-range=" + strings.Join(c.ServiceRanges(), ","),
	}
}

// Scheduler is kube-scheduler's command line.
func Scheduler(binary, kubeconfig string) []string {
	return []string{binary,
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	}
}

// KubeletArgs is a kubelet's command line.
func KubeletArgs(node plan.Node, binary, kubeconfig string) []string {
	p := PathsOf(node)
	return []string{binary,
		"--config=" + p.KubeletConfig(),
		"--kubeconfig=" + kubeconfig,
		"--root-dir=" + p.Kubelet(),
		"--hostname-override=" + node.Name,
		"--node-ip=" + strings.Join(node.Addresses, ","),
		"--node-labels=topology.kubernetes.io/zone=" + node.Zone,
	}
}
