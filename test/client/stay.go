// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// stay is a client that keeps a connection it never uses, and makes another to the same server when that is ended.
func stay(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("stay", flag.ExitOnError)
	r.flags(set)
	length := set.Duration("for", 30*time.Second, "how long the server may take to end the connections")
	times := set.Int("times", 1, "how many connections are to be ended")
	if err := set.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	for n := range *times {
		dialer := net.Dialer{Timeout: r.timeout}
		connection, err := dialer.DialContext(ctx, "tcp", r.addr)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "connected")
		_ = connection.SetReadDeadline(began.Add(*length)) // it fails on what is closed, as the reading does
		_, err = connection.Read(make([]byte, 1))
		_ = connection.Close()
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			return fmt.Errorf("connection %d is still there after %s: %w", n+1, *length, err)
		}
		fmt.Println(time.Since(began).Round(time.Millisecond))
	}
	return nil
}
