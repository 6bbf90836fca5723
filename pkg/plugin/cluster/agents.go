// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const (
	// agentPatience bounds asking one agent.
	agentPatience = 10 * time.Second
	maxReport     = 4 << 20
)

// BootReport is what the agent of a pod says about how its server was started. It is asked through a connection into the pod, or where the
// caller has no right to one through the API server's proxy.
func (c *Clients) BootReport(ctx context.Context, pod string) (*probe.Report, error) {
	text, err := c.BootText(ctx, pod)
	if err != nil {
		return nil, err
	}
	report := &probe.Report{}
	if err := json.Unmarshal(text, report); err != nil {
		return nil, fmt.Errorf("the agent of pod %s says something else: %w", pod, err)
	}
	return report, nil
}

// BootText is the same as the agent wrote it.
func (c *Clients) BootText(ctx context.Context, pod string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	text, err := c.askAgent(ctx, pod)
	if apierrors.IsForbidden(err) || err != nil && ctx.Err() == nil {
		// The reason is the first one's unless the second way works.
		proxied, proxyErr := c.Kube.CoreV1().RESTClient().Get().Namespace(c.Namespace).Resource("pods").Name(pod + ":" + strconv.Itoa(naming.PortAgent)).
			SubResource("proxy").Suffix("bootz").MaxRetries(0).DoRaw(ctx)
		if proxyErr == nil {
			return proxied, nil
		}
		err = errors.Join(err, proxyErr)
	}
	return text, err
}

func (c *Clients) askAgent(ctx context.Context, pod string) ([]byte, error) {
	tunnel := c.Tunnel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return tunnel.Dial(ctx, c.Namespace, pod, naming.PortAgent)
	}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/bootz", nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the agent of pod %s answers %s", pod, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, maxReport))
}
