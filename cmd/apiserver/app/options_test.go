// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

func parsed(t *testing.T, args ...string) *Options {
	t.Helper()
	options := NewOptions()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, section := range options.Flags().FlagSets {
		flags.AddFlagSet(section)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	return options
}

func TestDefaultsAreValid(t *testing.T) {
	options := parsed(t)
	if err := options.Validate(); err != nil {
		t.Error(err)
	}
	if !options.EmbedsEtcd() {
		t.Error("no etcd is embedded by default")
	}
	if options.Recommended.Etcd.StorageConfig.Prefix != "/registry/valkey.io" || options.Recommended.SecureServing.BindPort != 8443 {
		t.Errorf("prefix %q, port %d", options.Recommended.Etcd.StorageConfig.Prefix, options.Recommended.SecureServing.BindPort)
	}
}

func TestNamedEtcdServersAreUsed(t *testing.T) {
	options := parsed(t, "--etcd-servers=https://a:2379,https://b:2379", "--data-dir=")
	if err := options.Validate(); err != nil {
		t.Error(err)
	}
	if options.EmbedsEtcd() {
		t.Error("an etcd is embedded beside those that are named")
	}
}

func TestEverythingThatIsWrongIsReportedAtOnce(t *testing.T) {
	err := parsed(t, "--data-dir=", "--embedded-etcd-quota-bytes=-1", "--cluster-domain=", "--namespace=",
		"--storage-media-type=text/plain", "--secure-port=70000", "--max-requests-inflight=-1", "--logging-format=poem").Validate()
	if err == nil {
		t.Fatal("valid")
	}
	for _, want := range []string{
		"--data-dir must be set, or --etcd-servers", "--embedded-etcd-quota-bytes must not be negative, it is -1",
		"--cluster-domain must be set", "--namespace must be set", `--storage-media-type "text/plain" invalid`,
		"--secure-port 70000 must be between", "--max-requests-inflight can not be negative",
		`Invalid value: "poem": Unsupported log format`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestAPodIsInstalledWhereItRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "namespace")
	if got := installedIn(file); got != naming.SystemNamespace {
		t.Errorf("outside of a pod: %q", got)
	}
	for content, want := range map[string]string{"elsewhere\n": "elsewhere", "": naming.SystemNamespace} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := installedIn(file); got != want {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	}
}
