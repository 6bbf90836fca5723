// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
)

// fill writes keys fill:1, fill:2, … with 100 kB each that cannot be compressed.
func fill(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("fill", flag.ExitOnError)
	r.flags(set)
	keys := set.Int("keys", 1000, "how many keys")
	if err := set.Parse(args); err != nil {
		return err
	}
	client, err := r.client()
	if err != nil {
		return err
	}
	defer client.Close()
	value := make([]byte, 100_000)
	random := rand.NewChaCha8([32]byte{})
	for n := range *keys {
		_, _ = random.Read(value) // it never fails
		if err := client.Set(ctx, fmt.Sprintf("fill:%d", n+1), value, 0).Err(); err != nil {
			return err
		}
	}
	return nil
}
