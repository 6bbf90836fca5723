// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// task is the first line of a program's standard input: what to write, and how to find the server. A program of test/clients is a few lines
// around a client library. It writes until its standard input ends, then reads back, and says on its standard output, a line each:
//
//	ok KEY MILLIS         the write of KEY, whose value is KEY, was acknowledged at that time of the epoch
//	no KEY MILLIS TEXT    it was not
//	read COUNT            how many of the acknowledged writes it has read back; the last line
type task struct {
	Addr             string   `json:"addr,omitempty"`
	Sentinels        []string `json:"sentinels,omitempty"`
	Name             string   `json:"name,omitempty"`
	User             string   `json:"user,omitempty"`
	Password         string   `json:"password,omitempty"`
	SentinelUser     string   `json:"sentinelUser,omitempty"`
	SentinelPassword string   `json:"sentinelPassword,omitempty"`
	CA               string   `json:"ca,omitempty"`
	Prefix           string   `json:"prefix"`
	Writers          int      `json:"writers"`
	EveryMillis      int64    `json:"everyMillis"`
	TimeoutMillis    int64    `json:"timeoutMillis"`
	VerifyMillis     int64    `json:"verifyMillis"`
}

func (o *order) task() task {
	t := task{
		Addr: o.addr, Name: o.name, User: o.user, Password: o.password, SentinelUser: o.sentinelUser, SentinelPassword: o.sentinelPassword,
		CA: o.ca, Prefix: o.prefix, Writers: o.writers,
		EveryMillis: o.pause.Milliseconds(), TimeoutMillis: o.timeout.Milliseconds(), VerifyMillis: o.verify.Milliseconds(),
	}
	if o.addr == "" {
		t.Sentinels = strings.Split(o.sentinels, ",")
	}
	return t
}

// follow lets a program write until the time is over, and keeps the book of what it says. Passwords are in its input: arguments can be seen.
func (b *book) follow(ctx context.Context, o order) error {
	words := strings.Fields(o.program)
	// It has its own end; this is for one that does not come to it.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.length+o.verify+10*time.Second)
	defer cancel()
	program := exec.CommandContext(within, words[0], words[1:]...)
	program.Stderr = os.Stderr
	input, err := program.StdinPipe()
	if err != nil {
		return err
	}
	output, err := program.StdoutPipe()
	if err != nil {
		return err
	}
	if err := program.Start(); err != nil {
		return err
	}
	if err := json.NewEncoder(input).Encode(o.task()); err != nil {
		return errors.Join(err, program.Wait())
	}
	go func() {
		<-ctx.Done()
		_ = input.Close() // one that is gone is found below
	}()
	listened := b.listen(output)
	if listened != nil {
		cancel()
	}
	if err := errors.Join(listened, program.Wait()); err != nil {
		return fmt.Errorf("%s: %w", o.program, err)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("%s ended before it was told to", o.program)
	}
	return nil
}

// listen reads what a program says, up to its last line.
func (b *book) listen(output io.Reader) error {
	lines := bufio.NewScanner(output)
	last := false
	for lines.Scan() {
		if last {
			return fmt.Errorf("a line after the last: %q", lines.Text())
		}
		var err error
		if last, err = b.hear(lines.Text()); err != nil {
			return err
		}
	}
	if !last && lines.Err() == nil {
		return errors.New("it did not say what it has read back")
	}
	return lines.Err()
}

// hear takes one line, and tells whether it is the last.
func (b *book) hear(line string) (last bool, err error) {
	words := strings.SplitN(line, " ", 4)
	if words[0] == "read" && len(words) == 2 {
		b.ReadBack, err = strconv.Atoi(words[1])
		return true, err
	}
	if len(words) < 3 {
		return false, fmt.Errorf("not understood: %q", line)
	}
	millis, err := strconv.ParseInt(words[2], 10, 64)
	if err != nil {
		return false, fmt.Errorf("not understood: %q", line)
	}
	switch at := time.UnixMilli(millis); {
	case words[0] == "ok" && len(words) == 3:
		b.record(words[1], at, nil)
	case words[0] == "no" && len(words) == 4:
		b.record(words[1], at, errors.New(words[3]))
	default:
		return false, fmt.Errorf("not understood: %q", line)
	}
	return false, nil
}
