// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/valkeykube/valkeykube/pkg/apiserver/embeddedetcd"
)

// standardStream is the name of standard input or output in place of a file's.
const standardStream = "-"

// lockPatience is how long a server that is just ending may keep the data directory.
const lockPatience = 10 * time.Second

// newEtcdCommand is what a person does to the store by hand.
func newEtcdCommand() *cobra.Command {
	plain := &cobra.Command{}
	command := &cobra.Command{
		Use:   "etcd",
		Short: "Snapshots of the store, and their restoration",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	// The server's flags, by section, are not those of these commands.
	command.SetUsageFunc(plain.UsageFunc())
	command.SetHelpFunc(plain.HelpFunc())
	command.AddCommand(newSnapshotCommand(), newRestoreCommand())
	return command
}

func newSnapshotCommand() *cobra.Command {
	var dataDir, output string
	var etcd storagebackend.TransportConfig
	command := &cobra.Command{
		Use:   "snapshot",
		Short: "Write a snapshot of a running etcd",
		Long: "Write a snapshot of a running etcd, which goes on serving: of the one in --data-dir, or of one of --etcd-servers.\n" +
			"It holds every object with its UID, and the identity of the store. Secrets of Valkey are not in it: they are Kubernetes' own.",
		Example:      "  kubectl -n valkey-system exec deploy/valkey-apiserver -- /valkey-apiserver etcd snapshot --output - > snapshot.db",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			if output == "" {
				return errors.New("--output must be set: a file, or - for standard output")
			}
			return writeTo(output, command.OutOrStdout(), func(into io.Writer) error { return snapshot(command, dataDir, etcd, into) })
		},
	}
	flags := command.Flags()
	flags.StringVar(&dataDir, "data-dir", NewOptions().DataDir, "Data directory of the running API server.")
	flags.StringVarP(&output, "output", "o", "", "File to write; it must not exist yet. - is standard output.")
	flags.StringSliceVar(&etcd.ServerList, "etcd-servers", nil, "Take the snapshot of the first of these instead, as https://host:2379.")
	flags.StringVar(&etcd.TrustedCAFile, "etcd-cafile", "", "CA of the etcd servers.")
	flags.StringVar(&etcd.CertFile, "etcd-certfile", "", "Certificate to show to the etcd servers.")
	flags.StringVar(&etcd.KeyFile, "etcd-keyfile", "", "Key of that certificate.")
	return command
}

func snapshot(command *cobra.Command, dataDir string, etcd storagebackend.TransportConfig, into io.Writer) error {
	if len(etcd.ServerList) == 0 {
		url, err := embeddedetcd.ClientURL(dataDir)
		if err != nil {
			return err
		}
		return embeddedetcd.Snapshot(command.Context(), url, nil, into)
	}
	certificates, err := etcdTLS(etcd)
	if err != nil {
		return err
	}
	return embeddedetcd.Snapshot(command.Context(), etcd.ServerList[0], certificates, into)
}

// writeTo leaves either a whole file or none.
func writeTo(output string, standard io.Writer, write func(io.Writer) error) error {
	if output == standardStream {
		return write(standard)
	}
	if _, err := os.Lstat(output); err == nil {
		return fmt.Errorf("%s exists already", output)
	}
	file, err := os.CreateTemp(filepath.Dir(output), ".snapshot-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := errors.Join(write(file), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), output)
}

func newRestoreCommand() *cobra.Command {
	var dataDir, from string
	var replace bool
	command := &cobra.Command{
		Use:   "restore",
		Short: "Make a data directory hold what a snapshot holds",
		Long: "Make a data directory hold what a snapshot holds. No API server may be running on it.\n\n" +
			"Objects come back with their UIDs, so what runs for them goes on. Objects that were made after the snapshot are gone from the store,\n" +
			"and Kubernetes then deletes what runs for those; volumes are kept.",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			file, done, err := snapshotFile(from, dataDir, command.InOrStdin())
			if err != nil {
				return err
			}
			defer done()
			ctx, cancel := context.WithTimeout(command.Context(), lockPatience)
			defer cancel()
			restored, err := embeddedetcd.Restore(ctx, dataDir, file, replace, time.Now())
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(command.OutOrStdout(), "restored revision %d into %s\n", restored.Revision, dataDir)
			if restored.Kept != "" {
				_, _ = fmt.Fprintf(command.OutOrStdout(), "the data that were there are kept in %s\n", restored.Kept)
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&dataDir, "data-dir", NewOptions().DataDir, "Data directory to restore into.")
	flags.StringVar(&from, "from", "", "Snapshot file. - is standard input.")
	flags.BoolVar(&replace, "replace", false, "Move data that are there already aside; they are kept beside the restored ones.")
	return command
}

// snapshotFile is the file to restore from: standard input is written to one first.
func snapshotFile(from, dataDir string, standard io.Reader) (path string, done func(), err error) {
	switch from {
	case "":
		return "", nil, errors.New("--from must be set: a file, or - for standard input")
	case standardStream:
	default:
		return from, func() {}, nil
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return "", nil, err
	}
	// The volume has room for it; the container's own file system may be read-only.
	file, err := os.CreateTemp(dataDir, ".restore-*")
	if err != nil {
		return "", nil, err
	}
	done = func() { _ = os.Remove(file.Name()) }
	_, err = io.Copy(file, standard)
	if err = errors.Join(err, file.Close()); err != nil {
		done()
		return "", nil, fmt.Errorf("read the snapshot: %w", err)
	}
	return file.Name(), done, nil
}
