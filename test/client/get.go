// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

// maxAnswer bounds what is printed of an answer.
const maxAnswer = 4 << 20

// get asks over HTTP, as whoever scrapes metrics does, and prints the answer.
func get(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("get", flag.ExitOnError)
	patience := flags.Duration("timeout", 3*time.Second, "for the whole of it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, flags.Arg(0), nil)
	if err != nil {
		return err
	}
	// Who is kept out by a network that drops packets hears nothing: that shall be told apart from a server that does not answer.
	connect := &net.Dialer{Timeout: *patience / 2}
	client := &http.Client{Transport: &http.Transport{DialContext: connect.DialContext, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", flags.Arg(0), response.Status)
	}
	_, err = io.Copy(os.Stdout, io.LimitReader(response.Body, maxAnswer))
	return err
}
