//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// An invalid manifest of each kind is refused through the aggregator, with the path of the field.
func TestInvalidManifestsAreRefused(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "refused")
	for name, c := range map[string]struct{ kind, spec, want string }{
		"negative replicas":      {"Valkey", "{replicas: -1}", "spec.replicas"},
		"sentinel without mode":  {"Valkey", "{failover: {mode: None, sentinel: {quorum: 2}}}", "spec.failover.sentinel"},
		"unknown mode":           {"Valkey", "{failover: {mode: Magic}}", "spec.failover.mode"},
		"cache with replicas":    {"Valkey", "{workloadType: Deployment, replicas: 1}", "spec.replicas"},
		"unknown field":          {"Valkey", "{replcas: 1}", "replcas"},
		"two Sentinels":          {"ValkeySentinel", "{replicas: 2}", "spec.replicas"},
		"broken selector":        {"ValkeySentinel", "{valkeySelector: {matchExpressions: [{key: a, operator: Maybe}]}}", "spec.valkeySelector"},
		"node of unknown type":   {"ValkeyNode", "{workloadType: DaemonSet}", "spec.workloadType"},
		"newline in a directive": {"Valkey", `{config: {maxmemory: "1mb\nreplicaof evil 6379"}}`, "spec.config"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := fmt.Sprintf("apiVersion: valkey.io/v1alpha1\nkind: %s\nmetadata: {name: bad}\nspec: %s\n", c.kind, c.spec)
			_, err := framework.TryKubectl(t, manifest, "create", "-n", ns, "-f", "-")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error that names %s, got %v", c.want, err)
			}
		})
	}
	if out := framework.Kubectl(t, "get", "valkeys,valkeysentinels,valkeynodes", "-n", ns, "-o", "name"); out != "" {
		t.Errorf("something was stored: %s", out)
	}
}

// What cannot work becomes a condition that names it, and works once it is mended.
func TestMissingSecretAndWrongImage(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "wrong")
	framework.Apply(t, ns, framework.Options{Name: "main", Mode: v1alpha1.FailoverModeNone, Image: "docker.io/valkey/valkey:does-not-exist"}.Manifest())
	framework.Apply(t, ns, framework.Options{Name: "users", Mode: v1alpha1.FailoverModeNone, Extra: "  users: [{name: app, passwordSecret: {name: nowhere}}]\n"}.Manifest())
	says := func(name, word string) {
		framework.Eventually(t, 90*time.Second, name+" says "+word, func() error {
			s := &framework.Set{Env: e, Namespace: ns, Name: name}
			vk := s.Get(t)
			for _, cond := range vk.Status.Conditions {
				if strings.Contains(cond.Message, word) {
					return nil
				}
			}
			return fmt.Errorf("conditions: %+v", vk.Status.Conditions)
		})
	}
	says("main", "does-not-exist")
	says("users", "nowhere")
	framework.Kubectl(t, "patch", "valkey", "main", "-n", ns, "--type=merge", "-p", `{"spec":{"image":"docker.io/valkey/valkey:8.1"}}`)
	framework.Kubectl(t, "create", "secret", "generic", "nowhere", "-n", ns, "--from-literal=password=open-sesame")
	for _, name := range []string{"main", "users"} {
		(&framework.Set{Env: e, Namespace: ns, Name: name}).WaitReady(t, 2*time.Minute)
	}
}

// Every example in the repository is accepted and becomes ready.
func TestExamples(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "examples")
	files, err := filepath.Glob(filepath.Join("..", "..", "artifacts", "examples", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		framework.Apply(t, ns, string(text))
	}
	framework.Kubectl(t, "wait", "--for=condition=Ready", "valkeys,valkeysentinels", "--all", "-n", ns, "--timeout=180s")
}
