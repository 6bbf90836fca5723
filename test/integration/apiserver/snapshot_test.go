// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	datasets "github.com/valkeykube/valkeykube/pkg/registry/valkey/snapshot"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func snapshotPath(namespace string) string {
	return "/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/cache/proxy/snapshot"
}

// takeSnapshot begins to take one.
func takeSnapshot(t *testing.T, namespace string) *http.Response {
	t.Helper()
	client, err := rest.HTTPClientFor(shared.config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.config.Host+snapshotPath(namespace), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

func digest(server *valkeytest.Process) string {
	return server.CommandAs(credentials("tester"), "DEBUG", "DIGEST")
}

func populate(t *testing.T, set *valkeytest.Set) {
	t.Helper()
	set.Nodes[0].CommandAs(credentials("tester"), "DEBUG", "POPULATE", "20000", "key", "300")
	// DEBUG is not replicated; this sends all of it to the replicas.
	for _, node := range set.Nodes[1:] {
		primary := set.Nodes[0].Address
		node.CommandAs(credentials("tester"), "REPLICAOF", "NO", "ONE")
		node.CommandAs(credentials("tester"), "SET", "other", "history")
		node.CommandAs(credentials("tester"), "REPLICAOF", primary.Host, strconv.Itoa(primary.Port))
	}
	set.AwaitReplicas(t)
	valkeytest.Eventually(t, "the same everywhere", func(context.Context) error {
		for _, node := range set.Nodes {
			if digest(node) != digest(set.Nodes[0]) {
				return errors.New(node.Name + " differs")
			}
		}
		return nil
	})
}

func restore(t *testing.T, content []byte) *valkeytest.Process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump.rdb")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), Name: "restored", Config: []string{"dir " + filepath.Dir(file)}})
}

func TestSnapshot(t *testing.T) {
	const namespace = "snapshot"
	set := startSet(t, namespace, v1alpha1.FailoverModeOperator, 1, 0)
	populate(t, set)
	want := digest(set.Nodes[0])

	response := takeSnapshot(t, namespace)
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get(datasets.HeaderNode) != "cache-1" || response.Header.Get(datasets.HeaderRole) != "replica" {
		t.Fatalf("%s, %v", response.Status, response.Header)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if got := response.Trailer.Get(datasets.HeaderSHA256); got != hex.EncodeToString(sum[:]) {
		t.Errorf("the trailer's sum is %q", got)
	}
	if got := response.Trailer.Get(datasets.HeaderBytes); got != strconv.Itoa(len(content)) {
		t.Errorf("the trailer counts %q, of %d", got, len(content))
	}
	if got := restore(t, content).Command("DEBUG", "DIGEST"); got != want {
		t.Errorf("restored %s, want %s", got, want)
	}

	// As a person would, and from the primary where there is no replica.
	set.Nodes[1].Kill()
	command := kubectlCommand(t.Context(), t, namespace, "get", "--raw", snapshotPath(namespace))
	var output, problems bytes.Buffer
	command.Stdout, command.Stderr = &output, &problems
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl: %v: %s", err, &problems)
	}
	if got := restore(t, output.Bytes()).Command("DEBUG", "DIGEST"); got != want {
		t.Errorf("kubectl got %s, want %s", got, want)
	}

	set.Nodes[0].Kill()
	err = shared.client.RESTClient().Get().AbsPath(snapshotPath(namespace)).MaxRetries(0).Do(t.Context()).Error()
	expect(t, err, http.StatusServiceUnavailable, "Unreachable", "no member of the Valkey answers")
	if seconds, ok := apierrors.SuggestsClientDelay(err); !ok || seconds == 0 {
		t.Errorf("no Retry-After: %v", err)
	}
	for path, code := range map[string]int32{
		"/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/cache/proxy":            http.StatusNotFound,
		"/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/cache/proxy/other":      http.StatusNotFound,
		"/apis/valkey.io/v1alpha1/namespaces/" + namespace + "/valkeys/missing/proxy/snapshot": http.StatusNotFound,
	} {
		err := shared.client.RESTClient().Get().AbsPath(path).MaxRetries(0).Do(t.Context()).Error()
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != code {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// startSlow is a set whose servers take their time to write a dataset.
func startSlow(t *testing.T, namespace string) *valkeytest.Set {
	t.Helper()
	set := startSet(t, namespace, v1alpha1.FailoverModeOperator, 0, 0)
	populate(t, set)
	if err := set.Nodes[0].Node().ConfigSet(t.Context(), valkeyclient.Setting{Key: "rdb-key-save-delay", Value: "300"}, valkeyclient.Setting{Key: "rdbcompression", Value: "no"}); err != nil {
		t.Fatal(err)
	}
	return set
}

func TestSnapshotIsCutOffWhenItsSourceDies(t *testing.T) {
	const namespace = "snapshot-dies"
	set := startSlow(t, namespace)
	response := takeSnapshot(t, namespace)
	defer response.Body.Close()
	if _, err := io.ReadFull(response.Body, make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}

	// Only one at a time: each is a copy of the server's process.
	err := shared.client.RESTClient().Get().AbsPath(snapshotPath(namespace)).MaxRetries(0).Do(t.Context()).Error()
	expect(t, err, http.StatusTooManyRequests, "", "is being taken")

	set.Nodes[0].Kill()
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("a part was taken for the whole")
	}
	if sum := response.Trailer.Get(datasets.HeaderSHA256); sum != "" {
		t.Errorf("there is a sum of a part: %s", sum)
	}
	set.Nodes[0].Start()
	set.Nodes[0].CommandAs(credentials("tester"), "SET", "a", "1")
	again := takeSnapshot(t, namespace)
	defer again.Body.Close()
	if content, err := io.ReadAll(again.Body); err != nil || again.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s, %d bytes, %v", again.Status, len(content), err)
	}
}

func TestKubectlNoticesASnapshotThatIsCutOff(t *testing.T) {
	const namespace = "snapshot-kubectl"
	set := startSlow(t, namespace)
	command := kubectlCommand(t.Context(), t, namespace, "get", "--raw", snapshotPath(namespace))
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(output, make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	set.Nodes[0].Kill()
	_, _ = io.Copy(io.Discard, output)
	if err := command.Wait(); err == nil {
		t.Error("kubectl took a part for the whole")
	}
}

// A client that goes away ends the copy of the server's process.
func TestSnapshotEndsWithItsClient(t *testing.T) {
	const namespace = "snapshot-leaves"
	startSlow(t, namespace)
	content, err := shared.client.ValkeyV1alpha1().Valkeys(namespace).GetSnapshot(t.Context(), "cache")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(content, make([]byte, 1<<10)); err != nil {
		t.Fatal(err)
	}
	_ = content.Close()
	valkeytest.Eventually(t, "another may be taken", func(context.Context) error {
		again := takeSnapshot(t, namespace)
		defer again.Body.Close()
		if again.StatusCode != http.StatusOK {
			return errors.New(again.Status)
		}
		return nil
	})
}
