// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const (
	// mostOfACrowd bounds what is opened on a server without a bound of its own.
	mostOfACrowd = 1000
	// crowdAgain is how soon it takes what becomes free.
	crowdAgain = 100 * time.Millisecond
)

// crowd takes every connection that a server gives, and those that become free, until standard input ends.
func crowd(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("crowd", flag.ExitOnError)
	addr := set.String("addr", "", "host:port of a server")
	if err := set.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	isFull, count := false, 0
	for ctx.Err() == nil {
		joined, err := join(ctx, *addr)
		switch {
		case joined && count == mostOfACrowd:
			return fmt.Errorf("the server has taken %d connections", count)
		case joined:
			count++
			continue
		case err != nil && !isFull && ctx.Err() == nil:
			return err
		case err == nil && !isFull:
			isFull = true
			fmt.Fprintln(os.Stderr, "full")
		}
		select {
		case <-ctx.Done():
		case <-time.After(crowdAgain):
		}
	}
	fmt.Println(count)
	return nil
}

// join opens a connection, which lasts as long as the process, and tells whether the server had room for it.
func join(ctx context.Context, addr string) (bool, error) {
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false, err
	}
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(connection, "PING\r\n"); err != nil {
		return false, errors.Join(err, connection.Close())
	}
	line, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil || strings.Contains(line, "max number of clients") {
		return false, errors.Join(err, connection.Close())
	}
	kept = append(kept, connection)
	return true, connection.SetDeadline(time.Time{})
}

// kept are the connections of the crowd: one that nothing refers to is closed.
var kept []net.Conn
