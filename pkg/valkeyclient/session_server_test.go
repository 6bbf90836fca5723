// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient/valkeytest"
)

func TestASessionSeesAnswersAsTheyAre(t *testing.T) {
	valkeytest.Each(t, func(t *testing.T, binary valkeytest.Binary) {
		server := valkeytest.StartServer(t, valkeytest.Options{Binary: binary})
		session, err := valkeytest.NewClient(t).Session(t.Context(), server.Target())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		ask := func(words ...string) valkeyclient.Reply {
			t.Helper()
			if err := session.Send(words...); err != nil {
				t.Fatal(err)
			}
			reply, err := session.Receive()
			if err != nil {
				t.Fatal(err)
			}
			return reply
		}
		long := strings.Repeat("x", 300<<10)
		for _, c := range []struct {
			words string
			kind  valkeyclient.ReplyKind
			text  string
		}{
			{"PING", valkeyclient.ReplyStatus, "PONG"},
			{"SET k " + long, valkeyclient.ReplyStatus, "OK"},
			{"GET k", valkeyclient.ReplyText, long},
			{"GET none", valkeyclient.ReplyNil, ""},
			{"INCR n", valkeyclient.ReplyInteger, "1"},
			{"INCR k", valkeyclient.ReplyError, "ERR value is not an integer or out of range"},
			{"MULTI", valkeyclient.ReplyStatus, "OK"},
			{"LPUSH l a", valkeyclient.ReplyStatus, "QUEUED"},
		} {
			if got := ask(strings.Fields(c.words)...); got.Kind != c.kind || got.Text != c.text {
				t.Errorf("%.20s: %d %.40q", c.words, got.Kind, got.Text)
			}
		}
		if got := ask("EXEC"); got.Kind != valkeyclient.ReplyList || len(got.Items) != 1 || got.Items[0].Text != "1" {
			t.Errorf("EXEC: %+v", got)
		}
		// What comes unasked comes too.
		if got := ask("SUBSCRIBE", "news"); got.Kind != valkeyclient.ReplyList || got.Items[0].Text != "subscribe" {
			t.Errorf("SUBSCRIBE: %+v", got)
		}
		server.Command("PUBLISH", "news", "hello")
		if got, err := session.Receive(); err != nil || got.Items[2].Text != "hello" {
			t.Errorf("the message: %+v, %v", got, err)
		}
		server.Kill()
		if _, err := session.Receive(); err == nil {
			t.Error("a server that is gone")
		}
	})
}

func TestASessionThatMayNotBegin(t *testing.T) {
	server := valkeytest.StartServer(t, valkeytest.Options{Binary: valkeytest.Default(t), ACL: []string{"user default on >right ~* +@all"}, Credentials: valkeyclient.Credentials{Password: "right"}})
	target := server.Target()
	target.Credentials.Password = "a-wrong-one"
	_, err := valkeytest.NewClient(t).Session(t.Context(), target)
	if !errors.Is(err, valkeyclient.ErrAuth) || strings.Contains(err.Error(), "a-wrong-one") {
		t.Errorf("got %v", err)
	}
	server.Kill()
	if _, err := valkeytest.NewClient(t).Session(t.Context(), target); !errors.Is(err, valkeyclient.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

// speak is a server that says one thing to whoever connects.
func speak(t *testing.T, text string) valkeyclient.Target {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(connection, text)
			_ = connection.Close()
		}
	}()
	return valkeyclient.Target{Address: listener.Addr().String()}
}

func TestAnswersThatMakeNoSense(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.1 400\r\n", "$-2\r\n", "$999999999999\r\n", "*x\r\n", "$5\r\nab", strings.Repeat("*1\r\n", 100), "+" + strings.Repeat("x", 100<<10)} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		session, err := valkeytest.NewClient(t).Session(ctx, speak(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if reply, err := session.Receive(); err == nil || ctx.Err() != nil {
			t.Errorf("%.20q: %+v, %v", text, reply, err)
		}
		_ = session.Close()
		cancel()
	}
}
