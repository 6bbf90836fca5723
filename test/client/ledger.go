// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// summary is what a ledger found: how many writes were acknowledged, and what became of them.
type summary struct {
	Attempted    int      `json:"attempted"`
	Acknowledged int      `json:"acknowledged"`
	Failed       int      `json:"failed"`
	ReadOnly     int      `json:"readOnly"`
	Lost         int      `json:"lost"`
	LostKeys     []string `json:"lostKeys,omitempty"`
	// MaxGapMillis is the longest time between two acknowledged writes.
	MaxGapMillis int64    `json:"maxGapMillis"`
	Errors       []string `json:"errors,omitempty"`
}

type book struct {
	sync.Mutex
	summary
	acknowledged []string
	last         time.Time
	seen         map[string]bool
}

func ledger(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("ledger", flag.ExitOnError)
	r.flags(set)
	prefix := set.String("prefix", "ledger", "first part of every key")
	pause := set.Duration("every", 2*time.Millisecond, "time between two writes of a writer")
	length := set.Duration("for", 2*time.Minute, "write no longer than this")
	verify := set.Duration("verify", 30*time.Second, "how long the reading back may wait for a server")
	if err := set.Parse(args); err != nil {
		return err
	}
	writing, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	go func() { // the end of standard input ends the writing
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	client := r.client()
	defer client.Close()
	b := &book{seen: map[string]bool{}}
	var writers sync.WaitGroup
	for writer := range 4 {
		writers.Go(func() { b.write(writing, client, fmt.Sprintf("%s:%d", *prefix, writer), *pause, r.timeout) })
	}
	writers.Wait()
	if err := b.readBack(ctx, client, *verify); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(b.summary)
}

func (b *book) write(ctx context.Context, client *redis.Client, prefix string, pause, timeout time.Duration) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		key := fmt.Sprintf("%s:%d", prefix, n)
		// A write that was begun is finished, so that the book knows what became of it.
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		err := client.Set(call, key, key, 0).Err()
		cancel()
		b.record(key, err)
	}
}

func (b *book) record(key string, err error) {
	b.Lock()
	defer b.Unlock()
	b.Attempted++
	if err != nil {
		b.Failed++
		if strings.HasPrefix(err.Error(), "READONLY") {
			b.ReadOnly++
		}
		if text := err.Error(); len(b.seen) < 20 && !b.seen[text] {
			b.seen[text] = true
			b.Errors = append(b.Errors, text)
			fmt.Fprintln(os.Stderr, time.Now().Format("15:04:05.000"), "write failed:", text)
		}
		return
	}
	now := time.Now()
	if gap := now.Sub(b.last).Milliseconds(); !b.last.IsZero() && gap > b.MaxGapMillis {
		b.MaxGapMillis = gap
	}
	b.last = now
	b.Acknowledged++
	b.acknowledged = append(b.acknowledged, key)
	if b.Acknowledged == 1 {
		fmt.Fprintln(os.Stderr, "first write acknowledged")
	}
}

// readBack reads every acknowledged write from the primary.
func (b *book) readBack(ctx context.Context, client *redis.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for start := 0; start < len(b.acknowledged); start += 500 {
		keys := b.acknowledged[start:min(start+500, len(b.acknowledged))]
		values, err := client.MGet(ctx, keys...).Result()
		for err != nil {
			select {
			case <-ctx.Done():
				return errors.Join(errors.New("read back"), err)
			case <-time.After(200 * time.Millisecond):
			}
			values, err = client.MGet(ctx, keys...).Result()
		}
		for i, value := range values {
			if value == keys[i] {
				continue
			}
			b.Lost++
			if len(b.LostKeys) < 10 {
				b.LostKeys = append(b.LostKeys, keys[i])
			}
		}
	}
	return nil
}
