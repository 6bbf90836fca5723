// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command valkey-go writes to Valkey with the library of that name for the ledger of test/client.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

const perRead = 500

// task is the first line of standard input: see test/client/programs.go.
type task struct {
	Addr, Name, User, Password, SentinelUser, SentinelPassword, CA, Prefix string
	Sentinels                                                              []string
	Writers                                                                int
	EveryMillis, TimeoutMillis, VerifyMillis                               int64
}

func (t *task) timeout() time.Duration { return time.Duration(t.TimeoutMillis) * time.Millisecond }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	var t task
	if err := json.Unmarshal(line, &t); err != nil {
		return err
	}
	client, err := open(&t)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, input) // its end, however it comes, is what is waited for
		end()
	}()
	var b book
	var writers sync.WaitGroup
	for n := range t.Writers {
		writers.Go(func() { b.write(ctx, client, &t, n) })
	}
	writers.Wait()
	found, err := b.readBack(client, &t)
	fmt.Printf("read %d\n", found)
	return err
}

func open(t *task) (valkey.Client, error) {
	option := valkey.ClientOption{Username: t.User, Password: t.Password, InitAddress: []string{t.Addr}, ForceSingleClient: true}
	if t.Addr == "" {
		option.InitAddress, option.ForceSingleClient = t.Sentinels, false
		option.Sentinel = valkey.SentinelOption{MasterSet: t.Name, Username: t.SentinelUser, Password: t.SentinelPassword}
	}
	if t.CA != "" {
		text, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s holds no certificate", t.CA)
		}
		option.TLSConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		option.Sentinel.TLSConfig = option.TLSConfig
	}
	return valkey.NewClient(option)
}

type book struct {
	sync.Mutex
	acknowledged []string
}

func (b *book) write(ctx context.Context, client valkey.Client, t *task, number int) {
	tick := time.NewTicker(time.Duration(max(1, t.EveryMillis)) * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		key := fmt.Sprintf("%s:%d:%d", t.Prefix, number, n)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.timeout())
		err := client.Do(call, client.B().Set().Key(key).Value(key).Build()).Error()
		cancel()
		b.say(key, err)
	}
}

func (b *book) say(key string, err error) {
	b.Lock()
	defer b.Unlock()
	now := time.Now().UnixMilli()
	if err != nil {
		fmt.Printf("no %s %d %s\n", key, now, strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	b.acknowledged = append(b.acknowledged, key)
	fmt.Printf("ok %s %d\n", key, now)
}

// readBack is how many acknowledged writes are found; one more try after each failure, while there is time.
func (b *book) readBack(client valkey.Client, t *task) (found int, err error) {
	deadline := time.Now().Add(time.Duration(t.VerifyMillis) * time.Millisecond)
	for {
		if found, err = b.found(client, t); err == nil || time.Now().After(deadline) {
			return found, err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func (b *book) found(client valkey.Client, t *task) (found int, err error) {
	for start := 0; start < len(b.acknowledged); start += perRead {
		keys := b.acknowledged[start:min(start+perRead, len(b.acknowledged))]
		call, cancel := context.WithTimeout(context.Background(), t.timeout())
		values, err := client.Do(call, client.B().Mget().Key(keys...).Build()).ToArray()
		cancel()
		if err != nil {
			return 0, err
		}
		for i := range values {
			if text, err := values[i].ToString(); err == nil && text == keys[i] {
				found++
			}
		}
	}
	return found, nil
}
