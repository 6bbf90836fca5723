// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// Pods opens connections into pods. The caller needs the right to create pods/portforward.
type Pods struct {
	// Config is how to reach the cluster's API server.
	Config *rest.Config
	// Core asks for objects of the group "".
	Core rest.Interface
}

// Dial connects to a port of a pod. ctx bounds the dialing, not the connection.
func (p Pods) Dial(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	address := p.Core.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	dialer, err := p.dialer(address)
	if err != nil {
		return nil, err
	}
	type dialed struct {
		stream httpstream.Connection
		err    error
	}
	result := make(chan dialed, 1)
	go func() {
		stream, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		result <- dialed{stream, err}
	}()
	select {
	case <-ctx.Done():
		go func() {
			if late := <-result; late.stream != nil {
				_ = late.stream.Close()
			}
		}()
		return nil, fmt.Errorf("connect to pod %s: %w", pod, ctx.Err())
	case got := <-result:
		if got.err != nil {
			return nil, fmt.Errorf("connect to pod %s: %w", pod, got.err)
		}
		return open(got.stream, pod, port)
	}
}

// dialer tries WebSockets, which proxies let through, and then SPDY, which older clusters speak.
func (p Pods) dialer(address *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(p.Config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, address)
	newer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(address, p.Config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(newer, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// open opens the two streams of a forwarded connection: one for what goes wrong, one for the content.
func open(stream httpstream.Connection, pod string, port int) (net.Conn, error) {
	headers := http.Header{}
	headers.Set(corev1.PortHeader, fmt.Sprint(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := stream.CreateStream(headers)
	if err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("connect to pod %s: %w", pod, err)
	}
	_ = problems.Close() // in our direction nothing is sent on it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	content, err := stream.CreateStream(headers)
	if err != nil {
		_ = stream.Close()
		return nil, fmt.Errorf("connect to pod %s: %w", pod, err)
	}
	return join(stream, content, problems, pod, port), nil
}
