// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// route is how a client finds the server: by an address, or through Sentinels.
type route struct {
	addr, sentinels, name, user, password string
	// sentinelUser and sentinelPassword are for the Sentinels alone.
	sentinelUser, sentinelPassword string
	// ca is a file of certificates, or the text in base64; with it everything is spoken over TLS.
	ca string
	// identity is a file with a certificate and its key, shown to whoever asks for one.
	identity string
	timeout  time.Duration
}

func (r *route) flags(set *flag.FlagSet) {
	set.StringVar(&r.addr, "addr", "", "host:port of a server")
	set.StringVar(&r.sentinels, "sentinels", "", "host:port of Sentinels, separated by commas")
	set.StringVar(&r.name, "name", "", "name of the monitor to ask the Sentinels for")
	set.StringVar(&r.user, "user", "", "user to log in as")
	set.StringVar(&r.password, "password", os.Getenv("PASSWORD"), "password to log in with")
	set.StringVar(&r.sentinelUser, "sentinel-user", "", "user to log in as at the Sentinels")
	set.StringVar(&r.sentinelPassword, "sentinel-password", os.Getenv("SENTINEL_PASSWORD"), "password to log in with at the Sentinels")
	set.StringVar(&r.ca, "ca", "", "certificates of those who sign, in PEM: a file, or the text in base64; speaks TLS")
	set.StringVar(&r.identity, "identity", "", "file with the certificate to show, and its key, in PEM; with -ca")
	set.DurationVar(&r.timeout, "timeout", 2*time.Second, "how long one command may take")
}

func (r *route) client() (*redis.Client, error) {
	trust, err := r.trust()
	if err != nil {
		return nil, err
	}
	if r.addr != "" {
		return redis.NewClient(&redis.Options{
			Addr: r.addr, Username: r.user, Password: r.password, MaxRetries: -1, TLSConfig: trust,
			DialTimeout: r.timeout, ReadTimeout: r.timeout, WriteTimeout: r.timeout, DisableIdentity: true,
		}), nil
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: r.name, SentinelAddrs: strings.Split(r.sentinels, ","), Username: r.user, Password: r.password,
		SentinelUsername: r.sentinelUser, SentinelPassword: r.sentinelPassword, MaxRetries: -1, TLSConfig: trust,
		DialTimeout: r.timeout, ReadTimeout: r.timeout, WriteTimeout: r.timeout, DisableIdentity: true,
	}), nil
}

// trust is nil without TLS.
func (r *route) trust() (*tls.Config, error) {
	if r.ca == "" {
		return nil, nil
	}
	text, err := base64.StdEncoding.DecodeString(r.ca)
	if err != nil {
		text, err = os.ReadFile(r.ca)
	}
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", r.ca)
	}
	trust := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if r.identity != "" {
		identity, err := tls.LoadX509KeyPair(r.identity, r.identity)
		if err != nil {
			return nil, err
		}
		trust.Certificates = []tls.Certificate{identity}
	}
	return trust, nil
}

// serial prints the serial number of the certificate that is shown at an address, in hexadecimal.
func serial(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("serial", flag.ExitOnError)
	r.flags(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	trust, err := r.trust()
	if err != nil {
		return err
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: r.timeout}, Config: trust}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	connection, err := dialer.DialContext(ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	defer connection.Close()
	fmt.Println(connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Text(16))
	return nil
}

func cli(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("cli", flag.ExitOnError)
	r.flags(set)
	durable := set.Bool("durable", false, "wait until what the command wrote is on the server's disk")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() == 0 {
		return errors.New("no command")
	}
	words := make([]any, set.NArg())
	for i, word := range set.Args() {
		words[i] = word
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout+time.Second)
	defer cancel()
	client, err := r.client()
	if err != nil {
		return err
	}
	defer client.Close()
	connection := client.Conn() // the server waits for what came by the same connection
	defer connection.Close()
	answer, err := connection.Do(ctx, words...).Result()
	if err == nil && *durable {
		err = onDisk(ctx, connection, r.timeout)
	}
	if err != nil {
		return err
	}
	show(answer)
	return nil
}

// onDisk waits until the server's append-only file has what came by a connection.
func onDisk(ctx context.Context, connection *redis.Conn, patience time.Duration) error {
	synced, err := connection.Do(ctx, "WAITAOF", 1, 0, (patience * 9 / 10).Milliseconds()).Int64Slice()
	if err == nil && (len(synced) != 2 || synced[0] != 1) {
		err = fmt.Errorf("not on disk within %s: %v", patience, synced)
	}
	return err
}

// each runs commands, separated by a word ";", and prints what became of each on a line of its own: "ok", or the error.
func each(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("each", flag.ExitOnError)
	r.flags(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	client, err := r.client()
	if err != nil {
		return err
	}
	defer client.Close()
	var words []any
	for _, word := range append(set.Args(), ";") {
		if word != ";" {
			words = append(words, word)
			continue
		}
		call, cancel := context.WithTimeout(ctx, r.timeout)
		err := client.Do(call, words...).Err()
		cancel()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		if err == nil {
			err = errors.New("ok")
		}
		fmt.Println(err)
		words = nil
	}
	return nil
}

func show(answer any) {
	switch value := answer.(type) {
	case []any:
		for _, item := range value {
			show(item)
		}
	case map[any]any:
		for key, item := range value {
			fmt.Println(key)
			show(item)
		}
	default:
		fmt.Println(value)
	}
}

func find(ctx context.Context, args []string) error {
	var r route
	set := flag.NewFlagSet("find", flag.ExitOnError)
	r.flags(set)
	if err := set.Parse(args); err != nil {
		return err
	}
	trust, last := r.trust()
	if last != nil {
		return last
	}
	for _, addr := range strings.Split(r.sentinels, ",") {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		sentinel := redis.NewSentinelClient(&redis.Options{
			Addr: addr, Username: r.sentinelUser, Password: r.sentinelPassword, TLSConfig: trust,
			MaxRetries: -1, DialTimeout: r.timeout, DisableIdentity: true,
		})
		found, err := sentinel.GetMasterAddrByName(ctx, r.name).Result()
		_ = sentinel.Close()
		cancel()
		if err == nil && len(found) == 2 {
			fmt.Println(found[0] + ":" + found[1])
			return nil
		}
		last = fmt.Errorf("%s: %w", addr, err)
	}
	return last
}
