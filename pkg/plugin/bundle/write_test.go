// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
)

const (
	password = "s3cr3t-of-the-test"
	// base64 of a key for TLS, as it is in PEM.
	keyBody = "MIGHAgEAMBMGByqGSM49"
	theKey  = "-----BEGIN PRIVATE KEY-----\n" + keyBody + "\n-----END PRIVATE KEY-----\n"
)

// encodedKey is the key as it is in a Secret.
var encodedKey = base64.StdEncoding.EncodeToString([]byte(theKey))

// answers is a cluster that knows one pod, whose every corner holds a password, and nothing else.
func answers(t *testing.T) (clients *cluster.Clients, asked func() []string) {
	t.Helper()
	pod := corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "valkey-cache-0-0", Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": password, "key": theKey, "secret": `{"tls.key":"` + encodedKey + `"}`,
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "server", Env: []corev1.EnvVar{{Name: "MY_PASSWORD", Value: password}, {Name: "MODE", Value: "kept"}}, Args: []string{"--requirepass", password},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "server", RestartCount: 1}}},
	}
	var mu sync.Mutex
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.Method+" "+r.URL.Path)
		mu.Unlock()
		switch {
		case strings.HasSuffix(r.URL.Path, "/log"):
			if r.URL.Query().Get("tailLines") != "10" || r.URL.Query().Get("limitBytes") == "" {
				t.Errorf("a log without bounds: %s", r.URL)
			}
			_, _ = io.WriteString(w, "a line\nmasterauth "+password+"\nredis://u:"+password+"@host\n"+theKey+"tls.key: "+encodedKey+"\n")
		case strings.HasSuffix(r.URL.Path, "/pods"):
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{pod}})
		default:
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not you","code":403}`, http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	clients, err := cluster.Connect(&rest.Config{Host: server.URL}, "ns", "test")
	if err != nil {
		t.Fatal(err)
	}
	return clients, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return paths
	}
}

func unpack(t *testing.T, packed io.Reader) map[string]string {
	t.Helper()
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for reader := tar.NewReader(zipped); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(content)
	}
}

func TestABundleHoldsWhatCanBeHadAndNoSecret(t *testing.T) {
	clients, asked := answers(t)
	var packed bytes.Buffer
	contents, err := Write(t.Context(), &packed, clients, Options{
		Lines: 10, Bytes: 1000, Version: "v1", Now: time.Unix(0, 0), Tell: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	files := unpack(t, &packed)
	if len(files) != contents.Files {
		t.Errorf("%d files, %d are counted", len(files), contents.Files)
	}
	for name, content := range files {
		if strings.Contains(content, password) || strings.Contains(name, password) {
			t.Errorf("%s holds the password", name)
		}
		if strings.Contains(content, keyBody) || strings.Contains(content, encodedKey) {
			t.Errorf("%s holds the key", name)
		}
		if strings.Contains(name, "..") || !strings.HasPrefix(name, "valkey-support-ns-19700101T000000Z/") {
			t.Errorf("a file called %s", name)
		}
	}
	at := func(name string) string { return files[path.Join("valkey-support-ns-19700101T000000Z", name)] }
	for name, want := range map[string]string{
		"README.txt": "objects/valkeys.yaml: ", "versions.yaml": "plugin: v1", "pods/valkey-cache-0-0/pod.yaml": "value: kept",
		"pods/valkey-cache-0-0/server.log": "a line\nmasterauth [REDACTED]", "pods/valkey-cache-0-0/server.previous.log": "a line",
		"system/pods/valkey-cache-0-0/pod.yaml": "kind: Pod",
	} {
		if !strings.Contains(at(name), want) {
			t.Errorf("%s does not hold %q:\n%s", name, want, at(name))
		}
	}
	for _, path := range asked() {
		if strings.Contains(path, "/secrets") || !strings.HasPrefix(path, http.MethodGet) {
			t.Errorf("asked: %s", path)
		}
	}
}

func TestABundleThatCannotBeWritten(t *testing.T) {
	clients, _ := answers(t)
	full := errors.New("no space left")
	_, err := Write(t.Context(), failing{full}, clients, Options{Lines: 10, Bytes: 1000, Now: time.Unix(0, 0), Tell: func(string) {}})
	if !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
