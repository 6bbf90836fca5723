// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// What real servers say about a value that they do not start with reaches the condition in their words.
func TestRefusedConfigOfRealServers(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		for _, line := range []string{"maxmemory-policy nonsense", "no-such-directive 1", "io-threads 1000", "maxmemory lots"} {
			file := filepath.Join(t.TempDir(), "valkey.conf")
			if err := os.WriteFile(file, []byte("port 0\n"+line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command(binary.Path, file)
			output, err := command.CombinedOutput()
			if err == nil {
				t.Fatalf("%s: it started", line)
			}
			ended := &corev1.ContainerStateTerminated{
				ExitCode: int32(command.ProcessState.ExitCode()), Reason: "Error", //nolint:gosec // an exit code
				Message: string(output) + "time=2026-01-01T00:00:01Z level=INFO msg=\"the server has ended\" exitCode=1\n",
			}
			message := endMessage("server", ended)
			t.Log(message)
			key, _, _ := strings.Cut(line, " ")
			if endReason(ended) != v1alpha1.ReasonConfigRefused || !strings.Contains(message, key) || strings.Contains(message, "level=INFO") {
				t.Errorf("%s: %s: %s", line, endReason(ended), message)
			}
		}
	})
}
