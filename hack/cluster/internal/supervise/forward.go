// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// listenFile is the file number of a daemon's listening socket.
const listenFile = 3

// Inherited is the listening socket that a daemon was started with.
func Inherited() (net.Listener, error) {
	listener, err := net.FileListener(os.NewFile(listenFile, "listener"))
	if err != nil {
		return nil, fmt.Errorf("take over the listening socket: %w", err)
	}
	return listener, nil
}

// Forward passes the connections of a listener on to an address until ctx ends. A socket stays in the network namespace
// in which it was made, so a listener of the machine's own namespace is the one way into a cluster's.
func Forward(ctx context.Context, listener net.Listener, address string) error {
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		go pass(conn.(*net.TCPConn), address)
	}
}

func pass(client *net.TCPConn, address string) {
	defer client.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { oneWay(server, client) })
	both.Go(func() { oneWay(client, server) })
	both.Wait()
}

// oneWay copies until the sender is done and says so to the receiver.
func oneWay(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil {
		// A broken half breaks the whole: the other copy must not wait for it.
		to.Close()
		from.Close()
		return
	}
	_ = to.CloseWrite()
}
