// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"encoding/json"
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
	// In bytes.
	longestWord, longestReport = 500, 1 << 20
)

// wordOf is what the agent in a running pod answers to the readiness probe: why the pod is not ready, in words. Empty where it does not say.
func (r *reconciler) wordOf(ctx context.Context, pod *corev1.Pod) string {
	status, text := r.askAgent(ctx, pod, "/readyz", longestWord)
	if status == 0 || status == http.StatusOK {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(text), ""))
}

// mountedIn is what the agent says of the files in its pod. Zero where it does not say.
func (r *reconciler) mountedIn(ctx context.Context, pod *corev1.Pod) plan.Mounts {
	_, text := r.askAgent(ctx, pod, "/bootz", longestReport)
	var report struct {
		Node struct {
			Mounts plan.Mounts `json:"mounts"`
		} `json:"node"`
	}
	if json.Unmarshal(text, &report) != nil {
		return plan.Mounts{}
	}
	return report.Node.Mounts
}

// askAgent asks the agent in a pod. The status is 0 where it does not answer.
func (r *reconciler) askAgent(ctx context.Context, pod *corev1.Pod, path string, longest int64) (status int, text []byte) {
	if !plan.Answers(pod) {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wordTimeout)
	defer cancel()
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortAgent))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return 0, nil
	}
	response, err := r.agents.Do(request)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = response.Body.Close() }()
	if text, err = io.ReadAll(io.LimitReader(response.Body, longest)); err != nil {
		return 0, nil
	}
	return response.StatusCode, text
}
