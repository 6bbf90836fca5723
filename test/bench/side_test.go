// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	clientscheme "github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned/scheme"
)

const (
	asJSON     = "application/json"
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asTable    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	mergePatch = "application/merge-patch+json"
)

// side is one way to store Valkeys, as its client sees it: through kube-apiserver, over connections of its own.
type side struct {
	name string
	// rival is the CustomResourceDefinition.
	rival bool
	// native is what the side's generated client speaks when nobody says otherwise.
	native string
	base   string
	config *rest.Config
	http   *http.Client
	// wire counts what passes the sockets, in both directions, in bytes.
	wire *atomic.Int64
}

func newSide(admin *rest.Config, rival bool) (*side, error) {
	s := &side{name: "aggregated", rival: rival, native: asProtobuf, config: admin, wire: &atomic.Int64{}}
	group := v1alpha1.SchemeGroupVersion.Group
	if rival {
		s.name, s.native, group = "CRD", asJSON, rivalGroup
	}
	s.base = fmt.Sprintf("%s/apis/%s/v1alpha1/namespaces/%s/valkeys", admin.Host, group, namespace)
	var err error
	s.http, err = s.connect()
	return s, err
}

// connect makes a client with connections of its own.
func (s *side) connect() (*http.Client, error) {
	config, err := rest.TLSConfigFor(s.config)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{}
	return &http.Client{Transport: &http.Transport{
		// Whether an answer is compressed is said in each request.
		TLSClientConfig: config, ForceAttemptHTTP2: true, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return counted{conn, s.wire}, nil
		},
	}}, nil
}

// counted counts what passes a connection.
type counted struct {
	net.Conn
	bytes *atomic.Int64
}

func (c counted) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.bytes.Add(int64(n))
	return n, err
}

func (c counted) Write(from []byte) (int, error) {
	n, err := c.Conn.Write(from)
	c.bytes.Add(int64(n))
	return n, err
}

// call is one request.
type call struct {
	method, path, accept, contentType string
	body                              []byte
	gzip                              bool
}

// open sends a request and returns the answer when its header is there. Close its body.
func (s *side) open(ctx context.Context, over *http.Client, c call) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, c.method, s.base+c.path, bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", c.accept)
	request.Header.Set("User-Agent", "bench")
	if c.contentType != "" {
		request.Header.Set("Content-Type", c.contentType)
	}
	if c.gzip {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	answer, err := over.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 2000))
		return nil, fmt.Errorf("%s: %s %s: %s: %s", s.name, c.method, c.path, answer.Status, text)
	}
	return answer, nil
}

// send sends a request and reads the answer to its end without looking at it: what a client does with it is not the servers' doing.
func (s *side) send(ctx context.Context, c call) error {
	answer, err := s.open(ctx, s.http, c)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// body is what a request is answered.
func (s *side) body(ctx context.Context, c call) ([]byte, error) {
	answer, err := s.open(ctx, s.http, c)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
}

// continuation is where the next page of a list begins; it is found without decoding the objects.
func (s *side) continuation(list []byte) (string, error) {
	if s.native == asJSON {
		_, after, _ := bytes.Cut(list, []byte(`"continue":"`))
		token, _, _ := bytes.Cut(after, []byte(`"`))
		return string(token), nil
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(list, []byte("k8s\x00"))); err != nil {
		return "", err
	}
	// The metadata are the first field: a tag, a length, and they.
	const tag = 1<<3 | 2
	if len(envelope.Raw) == 0 || envelope.Raw[0] != tag {
		return "", fmt.Errorf("%s: a list that does not begin with its metadata", s.name)
	}
	length, digits := binary.Uvarint(envelope.Raw[1:])
	from := 1 + max(digits, 0)
	if length > uint64(len(envelope.Raw)-from) {
		return "", fmt.Errorf("%s: a list that is cut off", s.name)
	}
	var listMeta metav1.ListMeta
	err := listMeta.Unmarshal(envelope.Raw[from : from+int(length)])
	return listMeta.Continue, err
}

// read is the JSON that a path answers.
func (s *side) read(ctx context.Context, path, accept string, into any) error {
	answer, err := s.open(ctx, s.http, call{method: http.MethodGet, path: path, accept: accept})
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return json.NewDecoder(answer.Body).Decode(into)
}

// encode is an object as the side's generated client would send it.
func (s *side) encode(valkey *v1alpha1.Valkey) ([]byte, error) {
	if s.rival {
		valkey.APIVersion = rivalGroup + "/v1alpha1"
		return json.Marshal(valkey)
	}
	info, ok := runtime.SerializerInfoForMediaType(clientscheme.Codecs.SupportedMediaTypes(), s.native)
	if !ok {
		return nil, fmt.Errorf("no serializer for %s", s.native)
	}
	return runtime.Encode(info.Serializer, valkey)
}

func (s *side) create(ctx context.Context, name string) error {
	body, err := s.encode(specimen(name))
	if err != nil {
		return err
	}
	return s.send(ctx, call{method: http.MethodPost, accept: s.native, contentType: s.native, body: body})
}

// report writes a whole status.
func (s *side) report(ctx context.Context, name string) error {
	text, err := json.Marshal(map[string]any{"status": observed(name)})
	if err != nil {
		return err
	}
	return s.send(ctx, call{method: http.MethodPatch, path: "/" + name + "/status", accept: s.native, contentType: mergePatch, body: text})
}

func (s *side) patch(ctx context.Context, name string, number int) error {
	body := fmt.Appendf(nil, `{"spec":{"config":{"timeout":"%d"}}}`, 301+number)
	return s.send(ctx, call{method: http.MethodPatch, path: "/" + name, accept: s.native, contentType: mergePatch, body: body})
}

func (s *side) remove(ctx context.Context, name string) error {
	return s.send(ctx, call{method: http.MethodDelete, path: "/" + name, accept: s.native})
}
