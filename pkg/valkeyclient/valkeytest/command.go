// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeytest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// Command sends one command as the default user and returns the answer as text. The test fails where the server refuses it.
func (p *Process) Command(words ...string) string {
	p.t.Helper()
	return p.CommandAs(valkeyclient.Credentials{}, words...)
}

// CommandAs is Command as another user.
func (p *Process) CommandAs(credentials valkeyclient.Credentials, words ...string) string {
	p.t.Helper()
	connection, err := net.DialTimeout("tcp", p.Address.String(), Patience)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(Patience))
	reader := bufio.NewReader(connection)
	if credentials.Password != "" {
		p.exchange(connection, reader, "AUTH", credentials.Username, credentials.Password)
	}
	return p.exchange(connection, reader, words...)
}

func (p *Process) exchange(connection io.Writer, reader *bufio.Reader, words ...string) string {
	p.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&text, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(connection, text.String()); err != nil {
		p.t.Fatal(err)
	}
	line, err := reader.ReadString('\n')
	line = strings.TrimSuffix(line, "\r\n")
	if err != nil || line == "" {
		p.t.Fatalf("%s on %s: %q, %v", words[0], p.Name, line, err)
	}
	switch line[0] {
	case '-':
		p.t.Fatalf("%s on %s: %s", words[0], p.Name, line)
	case '$':
		length, err := strconv.Atoi(line[1:])
		if err != nil || length < 0 {
			return ""
		}
		value := make([]byte, length)
		if _, err := io.ReadFull(reader, value); err != nil {
			p.t.Fatal(err)
		}
		return string(value)
	}
	return line[1:]
}
