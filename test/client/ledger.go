// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
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
	// LostWithinMillis is how long before the longest gap the first write that was lost had been acknowledged; negative: after the gap began.
	LostWithinMillis int64 `json:"lostWithinMillis,omitempty"`
	// MissingOn is how many acknowledged writes a member does not hold, for each that was asked; a member that could not be asked has them all missing.
	MissingOn map[string]int `json:"missingOn,omitempty"`
	// MaxGapMillis is the longest time between two acknowledged writes, MaxGapAt when it began.
	MaxGapMillis int64     `json:"maxGapMillis"`
	MaxGapAt     time.Time `json:"maxGapAt,omitzero"`
	// ReadBack is how many of the acknowledged writes the client that wrote them read back itself.
	ReadBack int      `json:"readBack"`
	Errors   []string `json:"errors,omitempty"`
	// Registers is whether what the clients of the registers saw can be put in one order: "linearizable", "violated" or "undecided".
	Registers   string `json:"registers,omitempty"`
	RegisterOps int    `json:"registerOps,omitempty"`
}

// entry is an acknowledged write.
type entry struct {
	key string
	at  time.Time
}

type book struct {
	sync.Mutex
	summary
	acknowledged []entry
	last         time.Time
	seen         map[string]bool
}

// order is what the ledger's flags say.
type order struct {
	route
	prefix, program, readPassword string
	writers                       int
	pause, length, verify         time.Duration
	registers, progress           bool
}

func orderOf(args []string) (order, error) {
	var o order
	set := flag.NewFlagSet("ledger", flag.ExitOnError)
	o.flags(set)
	set.StringVar(&o.prefix, "prefix", "ledger", "first part of every key")
	set.StringVar(&o.program, "program", "", "a program, with its arguments, that writes instead of this one: see programs.go")
	set.IntVar(&o.writers, "writers", 4, "how many write at a time")
	set.DurationVar(&o.pause, "every", 2*time.Millisecond, "time between two writes of a writer")
	set.DurationVar(&o.length, "for", 2*time.Minute, "write no longer than this")
	set.DurationVar(&o.verify, "verify", 30*time.Second, "how long the reading back may wait for a server")
	set.BoolVar(&o.registers, "registers", false, "swap the values of a few registers too, and check that all of it can be put in one order")
	set.BoolVar(&o.progress, "progress", false, "say now and then, on standard error, how many writes have been acknowledged")
	set.StringVar(&o.readPassword, "read-password", "", "password with which members are read back, where it is another one by then")
	return o, set.Parse(args)
}

func ledger(ctx context.Context, args []string) error {
	o, err := orderOf(args)
	if err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.Close()
	writing, cancel := context.WithTimeout(ctx, o.length)
	defer cancel()
	input := make(chan string, 1)
	go func() { // the end of standard input ends the writing; what was in it are the members to read back from, a line each
		text, _ := io.ReadAll(os.Stdin)
		input <- string(text)
		cancel()
	}()
	b, h := &book{seen: map[string]bool{}}, newHistory(o.prefix)
	if o.progress {
		go b.progress(writing)
	}
	if o.program != "" {
		err = b.follow(writing, o)
	} else {
		b.writeAll(writing, client, h, o)
	}
	if err != nil {
		return err
	}
	if err := b.readBack(ctx, client, o.verify); err != nil {
		return err
	}
	if o.program == "" {
		b.ReadBack = b.Acknowledged - b.Lost
	}
	select {
	case text := <-input:
		if o.readPassword != "" {
			o.password = o.readPassword
		}
		b.readMembers(ctx, o.route, strings.Fields(text), o.verify)
	default: // the time was over before the input: there are no members to ask
	}
	if o.registers {
		b.Registers, b.RegisterOps = h.judge(), len(h.operations)
	}
	return json.NewEncoder(os.Stdout).Encode(b.summary)
}

// writeAll writes with the ledger's own client until the time is over.
func (b *book) writeAll(ctx context.Context, client *redis.Client, h *history, o order) {
	var clients sync.WaitGroup
	for writer := range o.writers {
		clients.Go(func() { b.write(ctx, client, fmt.Sprintf("%s:%d", o.prefix, writer), o.pause, o.timeout) })
	}
	if o.registers {
		for n := range registerClients {
			clients.Go(func() { h.swap(ctx, client, n, o.timeout) })
		}
	}
	clients.Wait()
}

// progress says now and then how many writes have been acknowledged, while there are more and more.
func (b *book) progress(ctx context.Context) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	said := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.Lock()
		now := b.Acknowledged
		b.Unlock()
		if now > said {
			said = now
			fmt.Fprintln(os.Stderr, "acknowledged", said)
		}
	}
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
		b.record(key, time.Now(), err)
	}
}

func (b *book) record(key string, now time.Time, err error) {
	b.Lock()
	defer b.Unlock()
	b.Attempted++
	if err != nil {
		b.Failed++
		if strings.HasPrefix(err.Error(), "READONLY") {
			b.ReadOnly++
		}
		b.remark(err.Error())
		return
	}
	if gap := now.Sub(b.last).Milliseconds(); !b.last.IsZero() && gap > b.MaxGapMillis {
		b.MaxGapMillis, b.MaxGapAt = gap, b.last
	}
	b.last = now
	b.Acknowledged++
	b.acknowledged = append(b.acknowledged, entry{key, now})
	if b.Acknowledged == 1 {
		fmt.Fprintln(os.Stderr, "first write acknowledged")
	}
}

// remark notes an error once, and not more than a few.
func (b *book) remark(text string) {
	if len(b.seen) < 20 && !b.seen[text] {
		b.seen[text] = true
		b.Errors = append(b.Errors, text)
		fmt.Fprintln(os.Stderr, time.Now().Format("15:04:05.000"), text)
	}
}
