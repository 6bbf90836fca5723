// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/decision"
	"github.com/valkeykube/valkeykube/pkg/agent/node"
	"github.com/valkeykube/valkeykube/pkg/agent/sentinel"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func nodeFlags() (*flag.FlagSet, *node.Options) {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	limits := decision.DefaultLimits()
	o := &node.Options{Limits: limits}
	flags.StringVar(&o.Node, "node", os.Getenv(naming.EnvNode), "name of the ValkeyNode (default from "+naming.EnvNode+")")
	flags.StringVar(&o.PodIP, "pod-ip", os.Getenv(naming.EnvPodIP), "address of the pod (default from "+naming.EnvPodIP+")")
	flags.StringVar(&o.ConfigDir, "config-dir", naming.ConfigDir, "directory with "+naming.KeyBoot+" and "+naming.KeyServerConfig)
	flags.StringVar(&o.ACLDir, "acl-dir", naming.ACLDir, "directory with "+naming.KeyACL)
	flags.StringVar(&o.PasswordsDir, "passwords-dir", naming.PasswordsDir, "directory with a file per system user")
	flags.StringVar(&o.TLSDir, "tls-dir", naming.TLSDir, "directory with "+naming.KeyCertificate+", "+naming.KeyPrivateKey+" and "+naming.KeyCA+", where the node has TLS")
	flags.StringVar(&o.RunDir, "run-dir", naming.RunDir, "directory, in memory, for the rendered configuration")
	flags.StringVar(&o.DataDir, "data-dir", naming.DataDir, "the server's data directory")
	flags.DurationVar(&o.Grace, "grace", grace(), "how long the end may take: hand-over and shutdown (default from "+naming.EnvGracePeriod+", less a tenth)")
	flags.DurationVar(&o.Poll, "poll", 300*time.Millisecond, "time between two looks around while waiting")
	flags.DurationVar(&o.Limits.Sentinels, "wait-sentinels", limits.Sentinels, "longest wait for a majority of the Sentinels")
	flags.DurationVar(&o.Limits.Bootstrap, "wait-bootstrap", limits.Bootstrap, "longest wait for the first primary of a new set")
	flags.DurationVar(&o.Limits.Pending, "wait-failover", limits.Pending, "longest wait for a failover that is due")
	flags.DurationVar(&o.Limits.Missing, "wait-missing", limits.Missing, "longest wait for a missing member while others run")
	flags.DurationVar(&o.Limits.Cold, "wait-cold", limits.Cold, "longest wait for a missing member while none runs")
	flags.DurationVar(&o.Limits.Authority, "wait-authority", limits.Authority, "longest wait for a peer to be promoted, with older data")
	flags.DurationVar(&o.Limits.Empty, "wait-empty", limits.Empty, "longest wait for a missing member, without data")
	flags.DurationVar(&o.UsersEvery, "users-every", 10*time.Second, "time between two comparisons of the server's users with the ACL file")
	flags.DurationVar(&o.CertificateEvery, "certificate-every", 2*time.Second, "time between two looks at the mounted certificate")
	flags.DurationVar(&o.LockedPatience, "wait-locked", time.Minute, "how long a server that lets the agent in no more is left alone")
	place(flags, &o.Listen, &o.AgentPort, &o.DNSListen)
	binary(flags, &o.Server, &o.ServerHost)
	return flags, o
}

func sentinelFlags() (*flag.FlagSet, *sentinel.Options) {
	flags := flag.NewFlagSet("sentinel", flag.ContinueOnError)
	o := &sentinel.Options{}
	flags.StringVar(&o.Pod, "pod", os.Getenv(naming.EnvPodName), "name of the pod (default from "+naming.EnvPodName+")")
	flags.StringVar(&o.PodIP, "pod-ip", os.Getenv(naming.EnvPodIP), "address of the pod (default from "+naming.EnvPodIP+")")
	flags.StringVar(&o.ConfigDir, "config-dir", naming.ConfigDir, "directory with "+naming.KeyBoot+" and "+naming.KeyACL)
	flags.StringVar(&o.RunDir, "run-dir", naming.RunDir, "directory for what does not outlive the pod")
	flags.StringVar(&o.StateDir, "state-dir", naming.SentinelDir, "directory for the Sentinel's file")
	flags.DurationVar(&o.Patience, "wait-cold", sentinel.DefaultPatience, "longest wait for peers and members in a cold start")
	place(flags, &o.Listen, &o.AgentPort, &o.DNSListen)
	binary(flags, &o.Server, &o.ServerHost)
	return flags, o
}

func place(flags *flag.FlagSet, listen *string, agentPort *int, dnsListen *string) {
	flags.StringVar(listen, "listen", fmt.Sprintf(":%d", naming.PortAgent), "where probes are answered")
	flags.IntVar(agentPort, "agent-port", naming.PortAgent, "port at which the other agents answer")
	flags.StringVar(dnsListen, "dns-listen", "127.0.0.1:53", "where names are resolved")
}

func binary(flags *flag.FlagSet, server, host *string) {
	flags.StringVar(server, "server", "", "the valkey-server binary (default: looked for in PATH, /usr/local/bin, /usr/bin)")
	flags.StringVar(host, "server-host", "127.0.0.1", "where the own server is reached")
}

// grace leaves a tenth of the pod's grace period to the container runtime.
func grace() time.Duration {
	seconds, err := strconv.Atoi(os.Getenv(naming.EnvGracePeriod))
	if err != nil || seconds <= 0 {
		return node.DefaultGrace
	}
	return time.Duration(seconds) * time.Second * 9 / 10
}
