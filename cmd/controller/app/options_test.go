// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func parsed(t *testing.T, args ...string) *Options {
	t.Helper()
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestTheAgentImageComesFromTheEnvironmentAndTheFlagWins(t *testing.T) {
	t.Setenv(envAgentImage, "registry.example/agent:1")
	if got := parsed(t).AgentImage; got != "registry.example/agent:1" {
		t.Errorf("agent image %s", got)
	}
	if got := parsed(t, "--agent-image=other:2").AgentImage; got != "other:2" {
		t.Errorf("agent image %s", got)
	}
}

func TestValidateNamesEveryWrongFlag(t *testing.T) {
	err := parsed(t, "--cluster-dns=dns.example,10.96.0.10:53", "--concurrency=0", "--cluster-domain=").Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`"dns.example"`, "--concurrency", "--cluster-domain"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "10.96.0.10") {
		t.Errorf("a good address is called wrong: %v", err)
	}
}

func TestNameserversOfResolvConf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	text := "search valkey-system.svc.cluster.local\nnameserver 10.96.0.10\n# nameserver 1.1.1.1\nnameserver fd00::10\noptions ndots:5\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := nameservers(path)
	if err != nil || strings.Join(got, " ") != "10.96.0.10 fd00::10" {
		t.Errorf("got %v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte("search x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := nameservers(path); err == nil {
		t.Error("no nameserver, and no error")
	}
}
