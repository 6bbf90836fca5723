// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/server/v3/embed"
)

const (
	// A unix socket's path may be no longer than this on Linux.
	longestSocketPath = 107

	memberName      = "valkey-apiserver"
	memberDirectory = "etcd"
	clientSocket    = "client.sock"
	peerSocket      = "peer.sock"
	lockFile        = "lock"

	// lockPeriod is how often a directory in use is tried again.
	lockPeriod = 100 * time.Millisecond
)

// Options configures an embedded etcd.
type Options struct {
	// DataDir is where it keeps its data and its sockets. It is created with mode 0700 where it does not exist. One process
	// at a time can use it: a second one waits.
	DataDir string
	// QuotaBytes is how large the data may grow before writes are refused. 0: etcd's default, 2 GiB.
	QuotaBytes int64
}

// Server is a running etcd of one member, which listens on unix sockets in its data directory and nowhere else.
type Server struct {
	etcd     *embed.Etcd
	lock     *os.File
	endpoint string
	quota    int64
	closing  sync.Once
}

// Start starts an etcd, or one that goes on with the data of an earlier one, and returns when it answers. It fails when
// the directory cannot be used, or with ctx.
func Start(ctx context.Context, options Options) (*Server, error) {
	directory, err := dataDirectory(options.DataDir)
	if err != nil {
		return nil, err
	}
	lock, err := lockDirectory(ctx, directory)
	if err != nil {
		return nil, err
	}
	config, err := configuration(directory, options.QuotaBytes)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	etcd, err := startEtcd(config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd in %s: %w. If its data are damaged, they are of no use any more: restore a snapshot with "+
			"\"valkey-apiserver etcd restore --data-dir %s --from FILE --replace\", which keeps them aside", directory, err, directory), lock.Close())
	}
	server := &Server{etcd: etcd, lock: lock, endpoint: config.ListenClientUrls[0].String(), quota: quotaOf(config)}
	return server, server.waitUntilReady(ctx)
}

// startEtcd turns what etcd panics over, or would end the process for, into an error: damaged data.
func startEtcd(config *embed.Config) (etcd *embed.Etcd, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("%v", reason)
		}
	}()
	if err := checkDatabase(filepath.Join(config.Dir, "member", "snap", "db")); err != nil {
		return nil, err
	}
	return embed.StartEtcd(config)
}

// checkDatabase opens the database as etcd will: etcd itself ends the process when it cannot.
func checkDatabase(path string) error {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	database, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: lockPeriod})
	if err != nil {
		return fmt.Errorf("database %s: %w", path, err)
	}
	return database.Close()
}

func (s *Server) waitUntilReady(ctx context.Context) error {
	select {
	case <-s.etcd.Server.ReadyNotify():
		return nil
	case err := <-s.etcd.Err():
		s.Close()
		return fmt.Errorf("start etcd: %w", err)
	case <-s.etcd.Server.StopNotify():
		s.Close()
		return errors.New("start etcd: it stopped")
	case <-ctx.Done():
		s.Close()
		return fmt.Errorf("start etcd: %w", context.Cause(ctx))
	}
}

// Endpoint is the URL to connect to.
func (s *Server) Endpoint() string { return s.endpoint }

// Stopped is closed when it has stopped, by Close or because it failed.
func (s *Server) Stopped() <-chan struct{} { return s.etcd.Server.StopNotify() }

// Close ends it: what was acknowledged is on disk. It may be called more than once.
func (s *Server) Close() {
	s.closing.Do(func() {
		s.etcd.Close()
		_ = s.lock.Close()
	})
}

func dataDirectory(path string) (string, error) {
	directory, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if len(filepath.Join(directory, clientSocket)) > longestSocketPath {
		return "", fmt.Errorf("data directory %q: its path is too long for a unix socket in it", directory)
	}
	return directory, nil
}

// lockDirectory waits until no other process uses the directory. Closing the file, or the end of the process, lets it go.
func lockDirectory(ctx context.Context, directory string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(directory, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	for {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return lock, nil
		case !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("lock the data directory %s: %w", directory, err), lock.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("the data directory %s is in use by another process: %w", directory, context.Cause(ctx)), lock.Close())
		case <-time.After(lockPeriod):
		}
	}
}

func configuration(directory string, quotaBytes int64) (*embed.Config, error) {
	client, err := socket(directory, clientSocket)
	if err != nil {
		return nil, err
	}
	peer, err := socket(directory, peerSocket)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Name = memberName
	config.Dir = filepath.Join(directory, memberDirectory)
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	// For a peer's listener etcd looks at the host alone. Without one it would listen on an abstract socket, and then, at the end, try to
	// remove a file of that socket's name: where the file system is read-only that fails, and etcd never stops.
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{{Scheme: peer.Scheme, Host: peer.Path}}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.QuotaBackendBytes = quotaBytes
	// The API server compacts; a second mechanism would take revisions away that its watchers still need.
	config.AutoCompactionRetention = "0"
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(newLogger())
	return config, nil
}

// A socket that an earlier process left behind is removed: nobody listens on it while the lock is ours.
func socket(directory, name string) (url.URL, error) {
	path := filepath.Join(directory, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return url.URL{}, fmt.Errorf("data directory: %w", err)
	}
	return url.URL{Scheme: "unix", Path: path}, nil
}
