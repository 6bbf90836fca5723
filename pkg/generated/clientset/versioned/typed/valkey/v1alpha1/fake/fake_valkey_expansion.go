// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/testing"
)

// GetSnapshot returns what a reactor for "get" of "valkeys/proxy" answers: a *runtime.Unknown with the content in Raw.
func (c *fakeValkeys) GetSnapshot(_ context.Context, valkeyName string) (io.ReadCloser, error) {
	answer, err := c.Fake.Invokes(testing.NewGetSubresourceAction(c.Resource(), c.Namespace(), "proxy", valkeyName), &runtime.Unknown{})
	if err != nil {
		return nil, err
	}
	content, ok := answer.(*runtime.Unknown)
	if !ok {
		return nil, fmt.Errorf("a snapshot is to be answered with a *runtime.Unknown, not a %T", answer)
	}
	return io.NopCloser(bytes.NewReader(content.Raw)), nil
}
