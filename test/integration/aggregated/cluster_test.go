// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package aggregated

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/valkeykube/valkeykube/cmd/apiserver/app"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

const manifests = "../../../artifacts/deploy"

// cluster is a kube-apiserver that knows an API server of ours.
type cluster struct {
	environment *envtest.Environment
	// namespace is where the product is installed.
	namespace string
	// log is what kube-apiserver prints.
	log    *transcript
	admin  *rest.Config
	client client.Client

	// certificate and key files that our server serves with, and the port it listens on.
	certificate, key string
	bundle           []byte
	listener         net.Listener
	kubeconfig       string
	// addresses are what our server finds Valkeys at.
	addresses here
}

// startCluster starts a kube-apiserver, applies the manifests of our API server, and points their Service at the test's own process.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	return startClusterIn(t, naming.SystemNamespace)
}

func startClusterIn(t *testing.T, namespace string) *cluster {
	t.Helper()
	c := &cluster{environment: &envtest.Environment{}, namespace: namespace, log: &transcript{}}
	c.environment.ControlPlane.GetAPIServer().Err = c.log
	// Its certificates outlive a restart.
	c.environment.ControlPlane.GetAPIServer().CertDir = t.TempDir()
	c.certificates(t)
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
	c.admin.QPS = -1
	if c.client, err = client.New(c.admin, client.Options{}); err != nil {
		t.Fatal(err)
	}
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	c.kubeconfig = c.userKubeconfig(t, "system:serviceaccount:"+namespace+":"+naming.APIServerServiceAccount)
	c.applyManifests(t)
	return c
}

// transcript keeps what a process prints.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *transcript) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// aggregation makes kube-apiserver sign its requests to other API servers.
func (c *cluster) aggregation(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	caKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := certutil.NewSelfSignedCACert(certutil.Config{CommonName: "front-proxy"}, caKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "aggregator"}, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	keyText, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	certText, err := certutil.EncodeCertificates(leaf)
	if err != nil {
		t.Fatal(err)
	}
	caText, err := certutil.EncodeCertificates(ca)
	if err != nil {
		t.Fatal(err)
	}
	flags := c.environment.ControlPlane.GetAPIServer().Configure()
	for flag, content := range map[string][]byte{
		"requestheader-client-ca-file": caText, "proxy-client-cert-file": certText, "proxy-client-key-file": keyText,
	} {
		file := filepath.Join(directory, flag)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		flags.Set(flag, file)
	}
	flags.Set("requestheader-allowed-names", "aggregator").Set("requestheader-username-headers", "X-Remote-User").
		Set("requestheader-group-headers", "X-Remote-Group").Set("requestheader-extra-headers-prefix", "X-Remote-Extra-").
		Set("requestheader-uid-headers", "X-Remote-Uid")
}

func (c *cluster) certificates(t *testing.T) {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(naming.APIServerService+"."+c.namespace+".svc", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	c.certificate, c.key, c.bundle = filepath.Join(directory, "tls.crt"), filepath.Join(directory, "tls.key"), cert
	if err := errors.Join(os.WriteFile(c.certificate, cert, 0o600), os.WriteFile(c.key, key, 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) userKubeconfig(t *testing.T, name string, groups ...string) string {
	t.Helper()
	user, err := c.environment.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (c *cluster) applyManifests(t *testing.T) {
	t.Helper()
	files := []string{filepath.Join(manifests, "namespace", "namespace.yaml")}
	more, err := filepath.Glob(filepath.Join(manifests, "apiserver", "*.yaml"))
	if err != nil || len(more) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range append(files, more...) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.ReplaceAll(content, []byte(naming.SystemNamespace), []byte(c.namespace))
		decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
		for {
			object := &unstructured.Unstructured{}
			if err := decoder.Decode(object); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if object.GetKind() == "Kustomization" {
				continue
			}
			c.point(t, object)
			if err := c.client.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// point sends the aggregator to this process instead of pods, and lets it trust our certificate as the controller would.
func (c *cluster) point(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	port := int64(c.listener.Addr().(*net.TCPAddr).Port)
	switch object.GetKind() {
	case "Service":
		object.Object["spec"] = map[string]any{
			"type": "ExternalName", "externalName": "localhost",
			"ports": []any{map[string]any{"port": port, "protocol": "TCP"}},
		}
	case "APIService":
		spec := object.Object["spec"].(map[string]any)
		spec["caBundle"] = encode(c.bundle)
		spec["service"].(map[string]any)["port"] = port
	}
}

// options are those of our server behind the cluster's kube-apiserver.
func (c *cluster) options(t *testing.T, dataDir string, etcdServers ...string) *app.Options {
	t.Helper()
	options := app.NewOptions()
	options.DataDir, options.Addresses, options.Namespace = dataDir, &c.addresses, c.namespace
	recommended := options.Recommended
	recommended.Etcd.StorageConfig.Transport.ServerList = etcdServers
	recommended.CoreAPI.CoreAPIKubeconfigPath = c.kubeconfig
	recommended.Authentication.RemoteKubeConfigFile = c.kubeconfig
	recommended.Authorization.RemoteKubeConfigFile = c.kubeconfig
	recommended.SecureServing.ServerCert.CertKey.CertFile = c.certificate
	recommended.SecureServing.ServerCert.CertKey.KeyFile = c.key
	if c.listener == nil {
		t.Fatal("no listener")
	}
	recommended.SecureServing.Listener = c.listener
	recommended.SecureServing.BindPort = c.listener.Addr().(*net.TCPAddr).Port
	if err := errors.Join(options.Complete(), options.Validate()); err != nil {
		t.Fatal(err)
	}
	return options
}

// serve runs our server until stop is called, which returns when it has ended and its port is free again for the next.
func (c *cluster) serve(t *testing.T, dataDir string, etcdServers ...string) (stop func()) {
	t.Helper()
	return c.serveOptions(t, c.options(t, dataDir, etcdServers...))
}

// serveOptions is serve with options that differ from the usual ones.
func (c *cluster) serveOptions(t *testing.T, options *app.Options) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := app.Build(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := server.Run(ctx)
		server.Close()
		ended <- err
	}()
	address := c.listener.Addr().String()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		var err error
		if c.listener, err = net.Listen("tcp", address); err != nil {
			t.Errorf("listen again: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}
