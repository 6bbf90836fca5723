// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// rdb is a file without a checksum, as of a server with rdbchecksum no.
func rdb(content string) []byte {
	return binary.LittleEndian.AppendUint64([]byte("VALKEY080"+content+"\xff"), 0)
}

// answer is what a server sends: content and trailers, or a refusal; or it is cut off behind the content.
type answer struct {
	content      []byte
	bytes, sha   string
	cut          bool
	code         int
	refusal      string
	withoutTrail bool
}

func (a answer) source(t *testing.T) Source {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/valkey.io/v1alpha1/namespaces/ns/valkeys/cache/proxy/snapshot" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		if a.code != 0 {
			w.WriteHeader(a.code)
			_, _ = io.WriteString(w, a.refusal)
			return
		}
		w.Header().Set(headerNode, "cache-1")
		w.Header().Set(headerRole, "replica")
		w.Header().Set("Trailer", headerBytes+", "+headerSHA256)
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(a.content)
		if a.cut {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		if a.withoutTrail {
			return
		}
		sum := sha256.Sum256(a.content)
		w.Header().Set(headerBytes, or(a.bytes, strconv.Itoa(len(a.content))))
		w.Header().Set(headerSHA256, or(a.sha, hex.EncodeToString(sum[:])))
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return Source{
		Config:  config,
		Request: client.ValkeyV1alpha1().RESTClient().Get().Namespace("ns").Resource("valkeys").Name("cache").SubResource("proxy"),
	}
}

func or(text, otherwise string) string {
	if text != "" {
		return text
	}
	return otherwise
}

func TestAWholeSnapshotIsKept(t *testing.T) {
	for name, trail := range map[string]bool{"with trailers": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			source := answer{content: rdb("content"), withoutTrail: !trail}.source(t)
			var came int64
			var from string
			source.Came, source.Began = func(n int64) { came = n }, func(node, role string) { from = node + " " + role }
			file := filepath.Join(t.TempDir(), "dump.rdb")
			result, err := source.ToFile(t.Context(), file, false)
			if err != nil {
				t.Fatal(err)
			}
			content, _ := os.ReadFile(file)
			sum := sha256.Sum256(content)
			if string(content) != string(rdb("content")) || result.Bytes != int64(len(content)) || came != result.Bytes || result.SHA256 != hex.EncodeToString(sum[:]) ||
				result.Node != "cache-1" || from != "cache-1 replica" || result.File != file {
				t.Errorf("got %+v from %s", result, from)
			}
			if want := map[bool]int{true: 3, false: 1}[trail]; len(result.Checked) != want {
				t.Errorf("proofs: %v", result.Checked)
			}
			if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
				t.Errorf("mode %s", info.Mode())
			}
			onlyFile(t, file)
		})
	}
}

// onlyFile fails if something else was left in the file's directory; a file of "" means nothing at all.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != filepath.Base(file) {
			t.Errorf("left behind: %s", entry.Name())
		}
	}
}

func TestWhatIsNotWholeLeavesNothing(t *testing.T) {
	damaged := rdb("content")
	damaged[len(damaged)-3] = 1 // a checksum that does not hold
	for name, a := range map[string]answer{
		"cut off":            {content: rdb("content")[:12], cut: true},
		"cut off at the end": {content: rdb("content"), cut: true},
		"no end":             {content: rdb("content")[:14]},
		"no RDB":             {content: []byte("<html>a proxy's words</html>")},
		"nothing":            {content: []byte{}},
		"another checksum":   {content: damaged},
		"another length":     {content: rdb("content"), bytes: "1"},
		"another SHA-256":    {content: rdb("content"), sha: fmt.Sprintf("%064d", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "dump.rdb")
			if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := a.source(t).ToFile(t.Context(), file, true)
			if !errors.Is(err, ErrBroken) {
				t.Errorf("got %v", err)
			}
			if content, _ := os.ReadFile(file); string(content) != "before" {
				t.Errorf("what was there before is now %q", content)
			}
			onlyFile(t, file)
		})
	}
}

func TestAFileIsNotReplacedUnasked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dump.rdb")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (answer{content: rdb("")}.source(t)).ToFile(t.Context(), file, false); !errors.Is(err, ErrExists) {
		t.Errorf("got %v", err)
	}
	if _, err := (answer{content: rdb("new")}.source(t)).ToFile(t.Context(), file, true); err != nil {
		t.Error(err)
	}
	if content, _ := os.ReadFile(file); string(content) != string(rdb("new")) {
		t.Errorf("it holds %q", content)
	}
}

func TestRefusalsAreThoseOfTheServer(t *testing.T) {
	busy := answer{code: 429, refusal: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","message":"a snapshot is being taken","code":429}`}
	if _, err := busy.source(t).Receive(t.Context(), io.Discard); !apierrors.IsTooManyRequests(err) || err.Error() != "a snapshot is being taken" {
		t.Errorf("got %v", err)
	}
	strange := answer{code: 502, refusal: "bad gateway"}
	_, err := strange.source(t).Receive(t.Context(), io.Discard)
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code != http.StatusBadGateway || !strings.Contains(err.Error(), "bad gateway") {
		t.Errorf("got %v", err)
	}
}
