// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/node"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

func run(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = Run(args, &out, &err)
	return code, out.String(), err.String()
}

func TestCommandLine(t *testing.T) {
	cases := map[string]struct {
		args     []string
		wantCode int
		want     string
	}{
		"nothing":               {nil, 2, "Usage:"},
		"help":                  {[]string{"--help"}, 0, "valkey-agent sentinel"},
		"version":               {[]string{"--version"}, 0, "valkey-agent "},
		"unknown command":       {[]string{"serve"}, 2, `unknown command "serve"`},
		"install without DIR":   {[]string{"install"}, 2, "install DIR"},
		"install --help":        {[]string{"install", "--help"}, 2, "install DIR"},
		"install nowhere":       {[]string{"install", "/no/such/directory"}, 1, "/no/such/directory"},
		"node --help":           {[]string{"node", "--help"}, 0, "-wait-authority"},
		"node, unknown flag":    {[]string{"node", "--no-such"}, 2, "no-such"},
		"node, stray word":      {[]string{"node", "stray"}, 2, `unexpected ["stray"]`},
		"node without settings": {[]string{"node", "--config-dir", "/no/such/directory"}, 1, "boot settings"},
		"sentinel --help":       {[]string{"sentinel", "--help"}, 0, "-state-dir"},
		"sentinel, no settings": {[]string{"sentinel", "--config-dir", "/no/such/directory"}, 1, "boot settings"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := run(test.args...)
			if code != test.wantCode || !strings.Contains(stdout+stderr, test.want) {
				t.Errorf("code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

func TestInstall(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := run("install", dir); code != 0 {
		t.Fatalf("code %d: %s", code, stderr)
	}
	info, err := os.Stat(filepath.Join(dir, "valkey-agent"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
	if naming.AgentBinary != filepath.Join(naming.AgentDir, binaryName) {
		t.Errorf("the containers run %s", naming.AgentBinary)
	}
}

func TestGraceFollowsThePod(t *testing.T) {
	for value, want := range map[string]time.Duration{"": node.DefaultGrace, "60": 54 * time.Second, "x": node.DefaultGrace, "-1": node.DefaultGrace} {
		t.Setenv(naming.EnvGracePeriod, value)
		if got := grace(); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv(naming.EnvNode, "v-1")
	t.Setenv(naming.EnvPodName, "valkey-sentinel-s-0")
	t.Setenv(naming.EnvPodIP, "10.0.0.1")
	_, n := nodeFlags()
	_, s := sentinelFlags()
	if n.Node != "v-1" || n.PodIP != "10.0.0.1" || s.Pod != "valkey-sentinel-s-0" || s.PodIP != "10.0.0.1" {
		t.Errorf("%+v %+v", n, s)
	}
}
