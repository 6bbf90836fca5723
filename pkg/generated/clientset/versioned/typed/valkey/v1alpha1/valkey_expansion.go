// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"io"
)

// ValkeyExpansion is what client-gen has no verb for.
type ValkeyExpansion interface {
	// GetSnapshot streams the dataset of a Valkey as an RDB file, taken from a synced replica where there is one. Only what was read
	// up to io.EOF is the whole: when the source fails in the middle, Read fails with another error. Close it.
	GetSnapshot(ctx context.Context, valkeyName string) (io.ReadCloser, error)
}

// GetSnapshot begins to read the dataset.
func (c *valkeys) GetSnapshot(ctx context.Context, valkeyName string) (io.ReadCloser, error) {
	return c.GetClient().Get().Namespace(c.GetNamespace()).Resource("valkeys").Name(valkeyName).SubResource("proxy", "snapshot").Stream(ctx)
}
