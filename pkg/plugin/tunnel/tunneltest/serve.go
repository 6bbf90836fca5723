// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tunneltest owns the far end of connections into pods, for tests: it answers as a cluster's API server does that speaks SPDY only.
package tunneltest

import (
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// Serve answers a request for a connection into a pod with one to what connect returns for the port.
func Serve(w http.ResponseWriter, r *http.Request, connect func(port string) (io.ReadWriteCloser, error)) {
	if r.Method != http.MethodPost {
		http.Error(w, "no WebSockets here", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		streams <- stream
		return nil
	})
	if connection == nil {
		return
	}
	defer func() { _ = connection.Close() }()
	problems, content := <-streams, <-streams
	far, err := connect(content.Headers().Get(corev1.PortHeader))
	if err != nil {
		_, _ = io.WriteString(problems, err.Error())
		_ = problems.Close()
		_ = content.Close()
		<-connection.CloseChan()
		return
	}
	_ = problems.Close()
	go func() {
		_, _ = io.Copy(far, content)
		_ = far.Close()
	}()
	_, _ = io.Copy(content, far)
	_ = content.Close()
	<-connection.CloseChan()
}
