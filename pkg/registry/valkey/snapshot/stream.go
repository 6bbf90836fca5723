// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

const (
	contentType = "application/octet-stream"
	// clientPatience is how long a client may take nothing.
	clientPatience = 30 * time.Second
	// piece is how much is in memory at a time.
	piece = 64 << 10
)

// The headers of an answer. The last two are trailers: they come behind the content.
const (
	HeaderNode   = "Valkey-Snapshot-Node"
	HeaderRole   = "Valkey-Snapshot-Role"
	HeaderBytes  = "Valkey-Snapshot-Bytes"
	HeaderSHA256 = "Valkey-Snapshot-Sha256"
)

// stream sends one snapshot.
type stream struct {
	valkey *v1alpha1.Valkey
	source source
	clock  clock.PassiveClock
	// patience is how long the client may take nothing.
	patience time.Duration
	done     func()
}

// ServeHTTP sends the RDB, and then how long it was and its SHA-256. If the source fails, or the client takes nothing any more, the
// answer is cut off in a way that no client takes for its end.
func (s *stream) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	defer s.done()
	defer func() { _ = s.source.Close() }()
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", s.valkey.Name+"-"+s.clock.Now().UTC().Format("20060102T150405Z")+".rdb"))
	header.Set("Cache-Control", "no-store")
	header.Set(HeaderNode, s.source.node)
	header.Set(HeaderRole, string(s.source.role))
	header.Set("Trailer", HeaderBytes+", "+HeaderSHA256)
	w.WriteHeader(http.StatusOK)
	count, sum, err := s.copy(w)
	logger := klog.FromContext(request.Context())
	if err != nil {
		logger.Error(err, "A snapshot was cut off", "valkey", klog.KObj(s.valkey), "source", s.source.describe(), "bytes", count)
		panic(http.ErrAbortHandler)
	}
	header.Set(HeaderBytes, strconv.FormatInt(count, 10))
	header.Set(HeaderSHA256, hex.EncodeToString(sum))
	logger.V(2).Info("A snapshot was taken", "valkey", klog.KObj(s.valkey), "source", s.source.describe(), "bytes", count)
}

func (s *stream) copy(w http.ResponseWriter) (count int64, sum []byte, err error) {
	hash := sha256.New()
	client := http.NewResponseController(w)
	defer func() { _ = client.SetWriteDeadline(time.Time{}) }()
	buffer := make([]byte, piece)
	for {
		n, readErr := s.source.Read(buffer)
		if n > 0 {
			// Where the connection knows no deadlines, the server's own limit on what a replica may hold up ends it.
			if err := client.SetWriteDeadline(time.Now().Add(s.patience)); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return count, nil, fmt.Errorf("the client: %w", err)
			}
			_, _ = hash.Write(buffer[:n])
			written, err := w.Write(buffer[:n])
			count += int64(written)
			if err != nil {
				return count, nil, fmt.Errorf("the client: %w", err)
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return count, hash.Sum(nil), nil
		case readErr != nil:
			return count, nil, readErr
		}
	}
}
