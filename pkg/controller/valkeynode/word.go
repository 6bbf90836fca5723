// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	wordTimeout = time.Second
	longestWord = 500
)

// wordOf is what the agent in a running pod answers to the readiness probe: why the pod is not ready, in words. Empty where it does not say.
func (r *reconciler) wordOf(ctx context.Context, pod *corev1.Pod) string {
	if !plan.Answers(pod) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortAgent))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return ""
	}
	response, err := r.agents.Do(request)
	if err != nil {
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, longestWord))
	if err != nil || response.StatusCode == http.StatusOK {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
}
