// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Subject is what is probed. Its methods may be called at the same time.
type Subject interface {
	// Ready tells whether the server may be sent requests, and why not, in words.
	Ready(ctx context.Context) (ready bool, reason string)
	// Live tells whether a restart of the container would not help. It is true while loading, copying and waiting.
	Live() (live bool, reason string)
	Report() Report
}

// Server answers probes.
type Server struct {
	http     *http.Server
	listener net.Listener
}

// Serve answers /readyz, /livez and /bootz at the address until Close.
func Serve(address string, subject Subject) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ready, reason := subject.Ready(r.Context())
		answer(w, ready, reason)
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		live, reason := subject.Live()
		answer(w, live, reason)
	})
	mux.HandleFunc("GET /bootz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		_ = encoder.Encode(subject.Report())
	})
	s := &Server{
		listener: listener,
		http: &http.Server{
			Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 30 * time.Second,
			MaxHeaderBytes: 16 << 10,
		},
	}
	go func() { _ = s.http.Serve(listener) }()
	return s, nil
}

func answer(w http.ResponseWriter, good bool, reason string) {
	if reason == "" {
		reason = "ok"
	}
	if !good {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, reason)
}

// Address is where it answers.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close stops it.
func (s *Server) Close() { _ = s.http.Close() }

// maxReport bounds what is read of another agent, in bytes.
const maxReport = 4 << 20

// Client asks other agents.
type Client struct {
	http *http.Client
	port int
}

// NewClient asks agents at the port, connecting through dial.
func NewClient(dial func(ctx context.Context, network, address string) (net.Conn, error), port int) *Client {
	return &Client{port: port, http: &http.Client{Transport: &http.Transport{
		DialContext: dial, DisableKeepAlives: true, ResponseHeaderTimeout: time.Second,
	}}}
}

var errStatus = errors.New("unexpected answer")

// Report asks the agent at the host.
func (c *Client) Report(ctx context.Context, host string) (Report, error) {
	var report Report
	url := "http://" + net.JoinHostPort(host, fmt.Sprint(c.port)) + "/bootz"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return report, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return report, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return report, fmt.Errorf("agent at %s: %w: %s", host, errStatus, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxReport)).Decode(&report); err != nil {
		return report, fmt.Errorf("agent at %s: %w", host, err)
	}
	return report, nil
}
