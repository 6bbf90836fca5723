// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// The headers of an answer. The last two are trailers.
const (
	headerNode   = "Valkey-Snapshot-Node"
	headerRole   = "Valkey-Snapshot-Role"
	headerBytes  = "Valkey-Snapshot-Bytes"
	headerSHA256 = "Valkey-Snapshot-Sha256"
)

// maxRefusal bounds what is read of a refusal, in bytes.
const maxRefusal = 1 << 20

// ErrBroken is that what came is not the whole snapshot, or not what was sent.
var ErrBroken = errors.New("the snapshot is not whole")

// Result is what was received.
type Result struct {
	// Node that sent it, and its Role then.
	Node string `json:"node"`
	Role string `json:"role"`
	// Bytes and SHA256 of the file.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Checked are the proofs that it is whole.
	Checked []string `json:"checked"`
	// Duration of the transfer.
	Duration metav1.Duration `json:"duration"`
	// File that it is in; empty for standard output.
	File string `json:"file,omitempty"`
}

// Source is where to ask.
type Source struct {
	Config *rest.Config
	// Request addresses valkeys/{name}/proxy.
	Request *rest.Request
	// Began is called when the snapshot begins to come, Came whenever some has. Both may be nil.
	Began func(node, role string)
	Came  func(total int64)
}

// Receive writes a snapshot to w and proves that it is whole: by the length and the SHA-256 that the server tells behind it, and by the end
// and the checksum that the file itself has. What was written before an error is worth nothing.
func (s Source) Receive(ctx context.Context, w io.Writer) (Result, error) {
	started := time.Now()
	response, err := s.ask(ctx)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = response.Body.Close() }()
	result := Result{Node: response.Header.Get(headerNode), Role: response.Header.Get(headerRole)}
	if s.Began != nil {
		s.Began(result.Node, result.Role)
	}
	sum, check, count := sha256.New(), valkeyclient.NewRDBCheck(), &counter{came: s.Came}
	if _, err := io.Copy(io.MultiWriter(w, sum, check, count), bufio.NewReaderSize(response.Body, 256<<10)); err != nil {
		return result, fmt.Errorf("%w: after %d bytes: %w", ErrBroken, count.total, err)
	}
	if err := check.Whole(); err != nil {
		return result, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	result.Bytes, result.SHA256, result.Duration = count.total, hex.EncodeToString(sum.Sum(nil)), metav1.Duration{Duration: time.Since(started)}
	result.Checked = []string{"end and checksum of the RDB"}
	return result, result.compare(response.Trailer)
}

// compare holds what was received against what the server tells behind it. Proxies may drop that; then the file's own end must do.
func (r *Result) compare(said http.Header) error {
	if said.Get(headerBytes) == "" && said.Get(headerSHA256) == "" {
		return nil
	}
	if want := said.Get(headerBytes); want != strconv.FormatInt(r.Bytes, 10) {
		return fmt.Errorf("%w: %d bytes came, of %s", ErrBroken, r.Bytes, want)
	}
	if want := said.Get(headerSHA256); want != r.SHA256 {
		return fmt.Errorf("%w: its SHA-256 is %s, the server's %s", ErrBroken, r.SHA256, want)
	}
	r.Checked = append(r.Checked, "length", "SHA-256")
	return nil
}

// ask gets the answer's head. The library's own way to stream hides the trailers.
func (s Source) ask(ctx context.Context) (*http.Response, error) {
	config := rest.CopyConfig(s.Config)
	config.Timeout = 0
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Request.Suffix("snapshot").URL().String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, refusal(response)
}

// refusal is the Status that the server answered with.
func refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal))
	status := metav1.Status{}
	if err := json.Unmarshal(text, &status); err == nil && status.Kind == "Status" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return apierrors.NewGenericServerResponse(response.StatusCode, "get", metaResource, "snapshot", cmp.Or(string(text), response.Status), 0, true)
}

// counter counts what goes by.
type counter struct {
	total int64
	came  func(int64)
}

// Write counts.
func (c *counter) Write(content []byte) (int, error) {
	c.total += int64(len(content))
	if c.came != nil {
		c.came(c.total)
	}
	return len(content), nil
}
