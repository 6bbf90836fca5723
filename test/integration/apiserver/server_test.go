// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/rest"

	"github.com/valkeykube/valkeykube/cmd/apiserver/app"
	"github.com/valkeykube/valkeykube/pkg/generated/clientset/versioned"
)

// fixture is a running API server.
type fixture struct {
	config *rest.Config
	client *versioned.Clientset
	etcd   *clientv3.Client
}

// shared serves every test of the package; each uses a namespace of its own.
var shared fixture

func TestMain(m *testing.M) {
	os.Exit(func() int {
		ctx, cancel := context.WithCancel(context.Background())
		directory, err := os.MkdirTemp("", "valkey-apiserver-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(directory)
		ended := make(chan error, 1)
		shared = start(ctx, directory, ended)
		code := m.Run()
		cancel()
		if err := <-ended; err != nil {
			println("the server ended with:", err.Error())
			return 1
		}
		return code
	}())
}

func start(ctx context.Context, directory string, ended chan<- error) fixture {
	options := app.NewOptions()
	options.Standalone = true
	options.Secrets, options.Addresses, options.Controller = &world, &world, &world
	options.DataDir = directory
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	options.Recommended.SecureServing.Listener = listener
	options.Recommended.SecureServing.BindPort = listener.Addr().(*net.TCPAddr).Port
	options.Recommended.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	must(options.Complete())
	must(options.Validate())
	server, err := app.Build(ctx, options)
	must(err)
	go func() {
		err := server.Run(ctx)
		server.Close()
		ended <- err
	}()
	config := rest.CopyConfig(server.Generic.LoopbackClientConfig)
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	f := fixture{config: config}
	f.client, err = versioned.NewForConfig(config)
	must(err)
	f.etcd, err = clientv3.New(clientv3.Config{Endpoints: options.Recommended.Etcd.StorageConfig.Transport.ServerList, DialTimeout: 5 * time.Second})
	must(err)
	waitUntilReady(ctx, f)
	return f
}

func waitUntilReady(ctx context.Context, f fixture) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		body, err := f.client.RESTClient().Get().AbsPath("/readyz").Param("verbose", "1").DoRaw(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			panic("not ready: " + err.Error() + "\n" + string(body))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
