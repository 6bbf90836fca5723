// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	logsapi "k8s.io/component-base/logs/api/v1"

	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// envAgentImage is the default of a flag: an installation sets it beside the images it installs.
const envAgentImage = "VALKEY_AGENT_IMAGE"

const (
	defaultAgentImage = "valkeykube/valkey-agent:dev"
	resolvConf        = "/etc/resolv.conf"
)

// Options are the settings of the controller.
type Options struct {
	Kubeconfig      string
	QPS             float32
	Burst           int
	SystemNamespace string
	AgentImage      string
	ClusterDNS      []string
	ClusterDomain   string
	Concurrency     int
	LeaderElect     bool
	MetricsAddress  string
	HealthAddress   string
	ServingCert     bool
	// EtcdCertificates is for how many members of the API server's etcd certificates are made. 0: none.
	EtcdCertificates int
	Logs             *logsapi.LoggingConfiguration
}

// NewOptions are the defaults.
func NewOptions() *Options {
	return &Options{
		QPS: 200, Burst: 400,
		AgentImage:     cmp.Or(os.Getenv(envAgentImage), defaultAgentImage),
		ClusterDomain:  "cluster.local",
		Concurrency:    16,
		LeaderElect:    true,
		MetricsAddress: ":8080",
		HealthAddress:  ":8081",
		ServingCert:    true,
		Logs:           logsapi.NewLoggingConfiguration(),
	}
}

// AddFlags makes the settings flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", o.Kubeconfig, "Path of a kubeconfig. Default: the cluster that the controller runs in.")
	flags.Float32Var(&o.QPS, "kube-api-qps", o.QPS, "Requests a second to the Kubernetes API, on average.")
	flags.IntVar(&o.Burst, "kube-api-burst", o.Burst, "Requests to the Kubernetes API at a time, above the average.")
	flags.StringVar(&o.SystemNamespace, "system-namespace", o.SystemNamespace,
		"Namespace that the product is installed in. Default: the one of the API server's Service, which APIService "+naming.APIServiceName+" names, else "+naming.SystemNamespace+".")
	flags.StringVar(&o.AgentImage, "agent-image", o.AgentImage,
		"Image that brings the agent into new pods; running pods keep theirs. Default: $"+envAgentImage+", else "+defaultAgentImage+".")
	flags.StringSliceVar(&o.ClusterDNS, "cluster-dns", o.ClusterDNS,
		"IP or IP:port of the cluster's DNS servers, for the resolvers in the pods. Default: the nameservers in "+resolvConf+".")
	flags.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "DNS domain of the cluster.")
	flags.IntVar(&o.Concurrency, "concurrency", o.Concurrency, "Objects of each kind that are looked after at a time.")
	flags.BoolVar(&o.LeaderElect, "leader-elect", o.LeaderElect, "Let only one of several controllers act at a time.")
	flags.StringVar(&o.MetricsAddress, "metrics-bind-address", o.MetricsAddress, "Address of /metrics. 0 turns it off.")
	flags.StringVar(&o.HealthAddress, "health-probe-bind-address", o.HealthAddress, "Address of /healthz and /readyz.")
	flags.BoolVar(&o.ServingCert, "manage-serving-certificate", o.ServingCert,
		"Make and renew the API server's serving certificate, and keep the CA in its APIService. Turn it off where another issuer does.")
	flags.IntVar(&o.EtcdCertificates, "manage-etcd-certificates", o.EtcdCertificates,
		"Make and renew the certificates between the API servers and an etcd of so many members, in the Secrets valkey-etcd-*. 0 makes none.")
	logsapi.AddFlags(o.Logs, flags)
}

// Validate completes what depends on the machine and tells everything that is wrong at once.
func (o *Options) Validate() error {
	var wrong []error
	if len(o.ClusterDNS) == 0 {
		servers, err := nameservers(resolvConf)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--cluster-dns is not set, and %w", err))
		}
		o.ClusterDNS = servers
	}
	for _, server := range o.ClusterDNS {
		host := server
		if split, _, err := net.SplitHostPort(server); err == nil {
			host = split
		}
		if net.ParseIP(host) == nil {
			wrong = append(wrong, fmt.Errorf("--cluster-dns: %q is no IP and no IP:port", server))
		}
	}
	if o.EtcdCertificates < 0 {
		wrong = append(wrong, fmt.Errorf("--manage-etcd-certificates: %d is less than 0", o.EtcdCertificates))
	}
	if o.Concurrency < 1 {
		wrong = append(wrong, fmt.Errorf("--concurrency: %d is less than 1", o.Concurrency))
	}
	for flag, value := range map[string]string{
		"--agent-image": o.AgentImage, "--cluster-domain": o.ClusterDomain,
	} {
		if value == "" {
			wrong = append(wrong, fmt.Errorf("%s must not be empty", flag))
		}
	}
	return errors.Join(wrong...)
}

// DNS is what the agents' resolvers are told.
func (o *Options) DNS() boot.DNS {
	return boot.DNS{Upstreams: o.ClusterDNS, ClusterDomain: strings.Trim(o.ClusterDomain, ".")}
}

// RESTConfig is how to reach the Kubernetes API.
func (o *Options) RESTConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the Kubernetes API: %w", err)
	}
	config.QPS, config.Burst = o.QPS, o.Burst
	config.UserAgent = naming.FieldManager
	return config, nil
}

// nameservers are those of a resolv.conf.
func nameservers(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var servers []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) >= 2 && words[0] == "nameserver" {
			servers = append(servers, words[1])
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%s names no nameserver", path)
	}
	return servers, nil
}
