// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Crowd is a pool of clients that takes all the connections that a server allows.
type Crowd struct {
	address string
	mu      sync.Mutex
	members []net.Conn
}

// StartCrowd takes all the connections that the server at the address has left. They end with the test.
func StartCrowd(t testing.TB, address valkeyclient.Address) *Crowd {
	t.Helper()
	c := &Crowd{address: address.String()}
	t.Cleanup(c.Leave)
	for {
		joined, err := c.join()
		if err != nil {
			t.Fatal(err)
		}
		if !joined {
			return c
		}
	}
}

// join tells whether the server had room for one more.
func (c *Crowd) join() (bool, error) {
	connection, err := net.DialTimeout("tcp", c.address, Patience)
	if err != nil {
		return false, err
	}
	_ = connection.SetDeadline(time.Now().Add(Patience))
	_, err = io.WriteString(connection, "PING\r\n")
	line, readErr := bufio.NewReader(connection).ReadString('\n')
	if err != nil || readErr != nil || strings.Contains(line, "max number of clients") {
		return false, connection.Close()
	}
	_ = connection.SetDeadline(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, connection)
	return true, nil
}

// Leave ends all connections.
func (c *Crowd) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, connection := range c.members {
		_ = connection.Close()
	}
	c.members = nil
}
