// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/component-base/cli"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/cmd/apiserver/app"
	"github.com/valkeykube/valkeykube/pkg/apiserver/embeddedetcd"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// asServer makes this test binary be the API server's binary.
const asServer = "VALKEY_APISERVER_BENCH_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(cli.Run(app.NewCommand(genericapiserver.SetupSignalContext())))
	}
	os.Exit(m.Run())
}

// cluster is a kube-apiserver with its etcd, and an API server of ours behind it, each in a process of its own.
type cluster struct {
	environment *envtest.Environment
	admin       *rest.Config
	client      client.Client
	// dataDir and port are our server's.
	dataDir string
	port    int
	servers processes
	// http asks either server, without the aggregator.
	http *http.Client
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{environment: &envtest.Environment{}, dataDir: t.TempDir()}
	c.aggregation(t)
	admin, err := c.environment.Start()
	if err != nil {
		t.Fatalf("start kube-apiserver and etcd: %v", err)
	}
	t.Cleanup(func() {
		if err := c.environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	c.admin = rest.CopyConfig(admin)
	c.admin.QPS, c.admin.Host = -1, strings.TrimSuffix(c.admin.Host, "/")
	if c.client, err = client.New(c.admin, client.Options{}); err != nil {
		t.Fatal(err)
	}
	config, err := rest.TLSConfigFor(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	// Only figures about the servers are asked for this way; who they are was settled by who started them.
	config.InsecureSkipVerify = true
	c.http = &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	t.Cleanup(c.http.CloseIdleConnections)
	c.startServer(t)
	c.servers = children(t)
	if len(c.servers) != 3 {
		t.Fatalf("these are not a kube-apiserver, its etcd and a server of ours: %v", c.servers)
	}
	if err := c.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	rival, err := definition()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(c.admin, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{rival}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// aggregation makes kube-apiserver sign its requests to other API servers.
func (c *cluster) aggregation(t *testing.T) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	// One certificate is the authority and the client: nobody else is to be recognised by it.
	signed, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "aggregator"}, key)
	if err != nil {
		t.Fatal(err)
	}
	keyText, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := certutil.EncodeCertificates(signed)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	certFile, keyFile := filepath.Join(directory, "proxy.crt"), filepath.Join(directory, "proxy.key")
	if err := errors.Join(os.WriteFile(certFile, text, 0o600), os.WriteFile(keyFile, keyText, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.environment.ControlPlane.GetAPIServer().Configure().
		Set("requestheader-client-ca-file", certFile).Set("proxy-client-cert-file", certFile).Set("proxy-client-key-file", keyFile).
		Set("requestheader-allowed-names", "aggregator").Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").Set("requestheader-extra-headers-prefix", "X-Remote-Extra-").
		Set("requestheader-uid-headers", "X-Remote-Uid")
}

// startServer starts our server as its Deployment does, with an etcd of its own, and waits until the aggregator serves it.
func (c *cluster) startServer(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.port = listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey(naming.APIServerService+"."+naming.SystemNamespace+".svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	certFile, keyFile := filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key")
	user, err := c.environment.AddUser(envtest.User{Name: "system:serviceaccount:" + naming.SystemNamespace + ":" + naming.APIServerServiceAccount}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	configFile := filepath.Join(directory, "kubeconfig")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600), os.WriteFile(configFile, kubeconfig, 0o600)); err != nil {
		t.Fatal(err)
	}
	c.applyManifests(t, cert)
	log := &bytes.Buffer{}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0],
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(c.port), "--data-dir="+c.dataDir,
		"--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile, "--kubeconfig="+configFile,
		"--authentication-kubeconfig="+configFile, "--authorization-kubeconfig="+configFile)
	command.Env = append(os.Environ(), asServer+"=1")
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
		defer kill.Stop()
		if err := command.Wait(); err != nil || t.Failed() {
			t.Logf("our server ended with %v, its log:\n%s", err, log.String())
		}
	})
	c.awaitAPI(t)
}

func (c *cluster) applyManifests(t *testing.T, bundle []byte) {
	t.Helper()
	const folder = "../../artifacts/deploy"
	files, err := filepath.Glob(filepath.Join(folder, "apiserver", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range append([]string{filepath.Join(folder, "namespace", "namespace.yaml")}, files...) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch object.GetKind() {
			case "Kustomization":
				continue
			case "Service":
				object.Object["spec"] = map[string]any{
					"type": "ExternalName", "externalName": "localhost", "ports": []any{map[string]any{"port": int64(c.port), "protocol": "TCP"}},
				}
			case "APIService":
				spec := object.Object["spec"].(map[string]any)
				spec["caBundle"] = base64.StdEncoding.EncodeToString(bundle)
				spec["service"].(map[string]any)["port"] = int64(c.port)
			}
			if err := c.client.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

func (c *cluster) awaitAPI(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		_, err := c.direct(ctx, c.admin.Host+"/apis/valkey.io/v1alpha1/valkeys?limit=1")
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("our API is not served: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *cluster) serverURL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

// direct is what a URL answers to the administrator.
func (c *cluster) direct(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, answer.Status, body)
	}
	return body, err
}

// stored is what etcd holds of a side's objects: how many, and how many bytes of keys and values.
func (c *cluster) stored(t *testing.T, s *side) (objects int, size int64) {
	t.Helper()
	endpoint, prefix := c.environment.ControlPlane.Etcd.URL.String(), "/registry/"+rivalGroup+"/"
	config := clientv3.Config{DialTimeout: 10 * time.Second}
	if !s.rival {
		var err error
		if endpoint, err = embeddedetcd.ClientURL(c.dataDir); err != nil {
			t.Fatal(err)
		}
		prefix = app.StoragePrefix + "/valkeys/"
	}
	config.Endpoints = []string{endpoint}
	etcd, err := clientv3.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = etcd.Close() }()
	for key, end := prefix, clientv3.GetPrefixRangeEnd(prefix); ; {
		page, err := etcd.Get(t.Context(), key, clientv3.WithRange(end), clientv3.WithLimit(500))
		if err != nil {
			t.Fatal(err)
		}
		for _, pair := range page.Kvs {
			objects, size = objects+1, size+int64(len(pair.Key)+len(pair.Value))
			key = string(pair.Key) + "\x00"
		}
		if !page.More {
			return objects, size
		}
	}
}
