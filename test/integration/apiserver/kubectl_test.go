// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// kubectlBinary is the one that "make binaries" puts into the cache.
func kubectlBinary(t *testing.T) string {
	t.Helper()
	directory := os.Getenv("KUBEBUILDER_ASSETS")
	if directory == "" {
		cache := os.Getenv("VALKEYKUBE_CACHE")
		if cache == "" {
			base, err := os.UserCacheDir()
			if err != nil {
				t.Fatal(err)
			}
			cache = filepath.Join(base, "valkeykube")
		}
		directory = filepath.Join(cache, "bin", "kubernetes-v1.37.2")
	}
	binary := filepath.Join(directory, "kubectl")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("no kubectl (make binaries): %v", err)
	}
	return binary
}

// kubectlCommand is kubectl at the shared server, in a namespace.
func kubectlCommand(ctx context.Context, t *testing.T, namespace string, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "kubeconfig")
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server: shared.config.Host, CertificateAuthorityData: shared.config.CAData, TLSServerName: shared.config.ServerName,
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: shared.config.BearerToken}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	config.CurrentContext = "x"
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(ctx, kubectlBinary(t), args...)
	command.Env = []string{"KUBECONFIG=" + file, "HOME=" + home}
	return command
}

// kubectl runs it to its end and returns what it prints.
func kubectl(t *testing.T, namespace, input string, args ...string) (string, error) {
	t.Helper()
	command := kubectlCommand(t.Context(), t, namespace, args...)
	command.Stdin = strings.NewReader(input)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	return output.String(), err
}

func TestKubectl(t *testing.T) {
	const namespace = "kubectl"
	set := startSet(t, namespace, v1alpha1.FailoverModeSentinel, 1, 3)
	request := `{apiVersion: valkey.io/v1alpha1, kind: FailoverRequest, metadata: {name: now}, spec: {valkey: cache, to: cache-1}}`
	for _, step := range []struct {
		input string
		args  []string
		want  []string
	}{
		{"", []string{"get", "vk", "cache", "--subresource=replication"}, []string{"NAME      ROLE      REPLICA-OF", "cache-0   primary", "cache-1   replica   " + set.Nodes[0].Address.String()}},
		{"", []string{"get", "vks", "watch", "--subresource=monitors"}, []string{"watch.cache   cache     cache    " + set.Nodes[0].Address.String()}},
		{request, []string{"create", "--dry-run=server", "-f", "-"}, []string{"failoverrequest.valkey.io/now created (server dry run)"}},
		{"{}", []string{"create", "--raw", "/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/cache/failover?dryRun=All", "-f", "-"}, []string{`"phase":"Pending"`, `"from":"cache-0"`}},
		{request, []string{"create", "-f", "-", "-o", "yaml"}, []string{"phase: Succeeded", "from: cache-0", "to: cache-1", "coordinated: true"}},
		{"", []string{"explain", "monitor.views.error"}, []string{"the reason for which this Sentinel did not answer"}},
		{"", []string{"explain", "failoverrequest.spec.preconditions"}, []string{"that must hold, or nothing is done"}},
	} {
		output, err := kubectl(t, namespace, step.input, step.args...)
		for _, want := range step.want {
			if err != nil || !strings.Contains(output, want) {
				t.Errorf("kubectl %s: %v\n%s\nwant %q", strings.Join(step.args, " "), err, output, want)
			}
		}
	}
	if !isPrimary(t, set.Nodes[1]) {
		t.Error("cache-1 is not primary")
	}
	output, err := kubectl(t, namespace, `{apiVersion: valkey.io/v1alpha1, kind: FailoverRequest, metadata: {name: now}, spec: {valkey: cache, to: cache-1}}`, "create", "-f", "-")
	if err == nil || !strings.Contains(output, "cache-1 is the primary already") {
		t.Errorf("a refused request: %v\n%s", err, output)
	}
}

func TestKubectlPrintsWhatTheRulesSay(t *testing.T) {
	const namespace = "kubectl-rules"
	head := "apiVersion: valkey.io/v1alpha1\nkind: "
	watching := func(name string) string {
		return head + "ValkeySentinel\nmetadata: {name: " + name + "}\nspec: {valkeySelector: {matchLabels: {watched: 'yes'}}}\n---\n"
	}
	valkey := func(name, spec string) string {
		return head + "Valkey\nmetadata: {name: " + name + ", labels: {watched: 'yes'}}\nspec: " + spec + "\n---\n"
	}
	for _, step := range []struct {
		what, input string
		args        []string
		refused     bool
		want        []string
	}{
		{"one manifest of neighbours", valkey("a", "{replicas: 1, failover: {mode: Sentinel, sentinel: {quorum: 1}}}") + watching("first") + watching("second"), []string{"apply", "-f", "-"}, false, []string{
			"valkey.valkey.io/a created",
			"Warning: spec.replicas: for Valkey a, a quorum of 1 is no majority of 3: so few may be wrong about the primary",
			"Warning: spec.valkeySelector: Valkey a stays with the older ValkeySentinel first, which selects it too",
			"valkeysentinel.valkey.io/second created",
		}},
		{"a name that is taken", valkey("b", "{replicas: 1, failover: {mode: Sentinel, sentinel: {monitorName: a}}}"), []string{"apply", "--server-side", "-f", "-"}, true, []string{
			`The Valkey "b" is invalid: spec.failover.sentinel.monitorName: Invalid value: "a": is the name under which Valkey a of this namespace is monitored: set another monitorName`,
		}},
		{"several errors", valkey("c", "{replicas: -1, image: 'a b'}"), []string{"create", "-f", "-"}, true, []string{
			`* spec.replicas: Invalid value: -1: must be greater than or equal to 0`, `* spec.image: Invalid value: "a b": must be the name of an image, without spaces`,
		}},
		{"an unknown field", valkey("c", "{colour: red}"), []string{"create", "-f", "-"}, true, []string{`strict decoding error: unknown field "spec.colour"`}},
		{"an unknown field, with a warning", valkey("c", "{colour: red}"), []string{"create", "--validate=warn", "--dry-run=server", "-f", "-"}, false, []string{`Warning: unknown field "spec.colour"`, "valkey.valkey.io/c created (server dry run)"}},
		{"a field selector", "", []string{"get", "vk", "--field-selector", "spec.failover.mode=Sentinel", "-o", "name"}, false, []string{"valkey.valkey.io/a"}},
		{"a field that cannot be selected by", "", []string{"get", "vk", "--field-selector", "spec.image=a"}, true, []string{`a Valkey cannot be selected by the field "spec.image", only by metadata.name, metadata.namespace, spec.failover.mode, status.primary, status.state`}},
	} {
		output, err := kubectl(t, namespace, step.input, step.args...)
		if (err != nil) != step.refused {
			t.Errorf("%s: %v\n%s", step.what, err, output)
		}
		for _, want := range step.want {
			if !strings.Contains(output, want) {
				t.Errorf("%s:\n%s\nwant %q", step.what, output, want)
			}
		}
	}
}
