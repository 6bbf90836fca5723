// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"os"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newLogger writes warnings and errors to standard error.
func newLogger() *zap.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(encoder), zapcore.Lock(os.Stderr), zapcore.WarnLevel)
	// What is fatal ends the process either way; as a panic it can be told to a person first.
	return zap.New(withoutNoise{core}, zap.WithFatalHook(zapcore.WriteThenPanic)).Named("etcd")
}

// Each regular start or end of an embedded etcd logs these.
var noise = []string{
	"setting up serving from embedded etcd failed",
	"insecure grpc server due to error",
	"simple token is not cryptographically signed",
	"Running http and grpc server on single port",
}

// withoutNoise drops what looks like a failure and is none.
type withoutNoise struct{ zapcore.Core }

// With keeps the filter.
func (c withoutNoise) With(fields []zapcore.Field) zapcore.Core {
	return withoutNoise{c.Core.With(fields)}
}

// Check adds the core unless the entry is noise.
func (c withoutNoise) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	for _, text := range noise {
		if strings.Contains(entry.Message, text) {
			return checked
		}
	}
	return c.Core.Check(entry, checked)
}
