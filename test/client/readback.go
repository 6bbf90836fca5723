// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

// perRead is how many keys one request reads back.
const perRead = 500

// readBack reads every acknowledged write from the primary.
func (b *book) readBack(ctx context.Context, client *redis.Client, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	missing, err := b.missing(ctx, client)
	for err != nil {
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("read back"), err)
		case <-time.After(200 * time.Millisecond):
		}
		missing, err = b.missing(ctx, client)
	}
	b.Lost = len(missing)
	for _, lost := range missing[:min(len(missing), 10)] {
		b.LostKeys = append(b.LostKeys, lost.key)
	}
	for _, lost := range missing {
		b.LostWithinMillis = max(b.LostWithinMillis, b.MaxGapAt.Sub(lost.at).Milliseconds())
	}
	return nil
}

// readMembers reads every acknowledged write from each member. One that lacks some gets the time to catch up.
func (b *book) readMembers(ctx context.Context, r route, members []string, patience time.Duration) {
	deadline := time.Now().Add(patience)
	b.MissingOn = map[string]int{}
	for _, member := range members {
		direct := r
		direct.addr = member
		client, err := direct.client()
		if err != nil {
			b.remark(err.Error())
			b.MissingOn[member] = len(b.acknowledged)
			continue
		}
		for {
			lacks, err := b.missing(ctx, client)
			b.MissingOn[member] = len(lacks)
			if err != nil {
				b.MissingOn[member] = len(b.acknowledged)
				b.remark(member + ": " + err.Error())
			}
			if err == nil && len(lacks) <= b.Lost || time.Now().After(deadline) {
				break
			}
			time.Sleep(200 * time.Millisecond)
		}
		_ = client.Close()
	}
}

// missing are the acknowledged writes that a server does not hold.
func (b *book) missing(ctx context.Context, client *redis.Client) ([]entry, error) {
	var missing []entry
	for start := 0; start < len(b.acknowledged); start += perRead {
		entries := b.acknowledged[start:min(start+perRead, len(b.acknowledged))]
		keys := make([]string, len(entries))
		for i := range entries {
			keys[i] = entries[i].key
		}
		values, err := client.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, err
		}
		for i, value := range values {
			if value != keys[i] {
				missing = append(missing, entries[i])
			}
		}
	}
	return missing, nil
}
