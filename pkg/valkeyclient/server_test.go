// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

// inline sends one inline command on a connection of its own and returns the first line of the answer.
func inline(t *testing.T, server *valkeytest.Process, line string) string {
	t.Helper()
	connection, err := net.Dial("tcp", server.Address.String())
	if err != nil {
		return "dial: " + err.Error()
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "%s\r\n", line); err != nil {
		return "write: " + err.Error()
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil {
		return "read: " + err.Error()
	}
	return strings.TrimSpace(answer)
}

func write(t *testing.T, server *valkeytest.Process, key, value string) {
	t.Helper()
	if answer := inline(t, server, "SET "+key+" "+value); answer != "+OK" {
		t.Fatalf("SET %s on %s: %s", key, server.Name, answer)
	}
}

func awaitRole(t *testing.T, server *valkeytest.Process, want valkeyclient.Role) {
	t.Helper()
	valkeytest.Eventually(t, server.Name+" becomes "+string(want), func(ctx context.Context) error {
		role, err := server.Node().Role(ctx)
		if err == nil && role.Role != want {
			return fmt.Errorf("is %s", role.Role)
		}
		return err
	})
}

// inlineAll is inline with all of the answer that comes within a moment.
func inlineAll(t *testing.T, server *valkeytest.Process, line string) string {
	t.Helper()
	connection, err := net.Dial("tcp", server.Address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "%s\r\n", line); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 64<<10)
	n, err := connection.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer[:n])
}
