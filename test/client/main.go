// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testclient is what the end-to-end tests run in a pod: a client of Valkey and Sentinel, and a ledger of acknowledged writes.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
)

const usage = `testclient: a client of Valkey and Sentinel for tests

  testclient idle                      wait until terminated (the pod's main process)
  testclient cli    [flags] CMD ARG …  run one command and print the answer
  testclient each   [flags] CMD ";" …  run several, print ok or the error of each on a line
  testclient find   [flags]            ask the Sentinels for the primary, print host:port
  testclient serial [flags]            print the serial number of the certificate at -addr
  testclient stay   [flags]            connect, say nothing, and connect again when the server ends the
                                       connection, until it has ended -times of them
  testclient crowd  [flags]            take every connection that the server gives, until standard input
                                       ends
  testclient get    [flags] URL        ask over HTTP and print the answer
  testclient put    FILE TEXT          write a file
  testclient fill   [flags]            write 100 kB to each of many keys
  testclient ledger [flags]            write until standard input ends or -for is over, then read
                                       every acknowledged write back; print a JSON summary

Flags: -h after the verb. Passwords come from the environment variable PASSWORD.
`

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	redis.SetLogger(silent{}) // what matters is in the errors
	var err error
	switch verb, args := os.Args[1], os.Args[2:]; verb {
	case "idle":
		<-ctx.Done()
	case "cli":
		err = cli(ctx, args)
	case "each":
		err = each(ctx, args)
	case "get":
		err = get(ctx, args)
	case "fill":
		err = fill(ctx, args)
	case "put":
		err = put(args)
	case "stay":
		err = stay(ctx, args)
	case "crowd":
		err = crowd(ctx, args)
	case "serial":
		err = serial(ctx, args)
	case "find":
		err = find(ctx, args)
	case "ledger":
		err = ledger(ctx, args)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// put writes a file, for pods whose image has no shell.
func put(args []string) error {
	if len(args) != 2 {
		return errors.New("put needs a file and a text")
	}
	return os.WriteFile(args[0], []byte(args[1]), 0o600)
}
