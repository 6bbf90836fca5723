// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/valkeykube/valkeykube/pkg/plugin/bundle"
	"github.com/valkeykube/valkeykube/pkg/version"
)

const (
	defaultLogLines = 2000
	maxLogBytes     = 2 << 20
)

func (a *App) supportBundle() *cobra.Command {
	var file string
	var lines int64
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Collect what a maintainer needs, without secrets",
		Long: `Collect into a .tar.gz what a maintainer needs to understand the Valkeys of the namespace: our objects and what was made for them,
status and replication as they are now, events, pods with bounded logs, what the agents say, and the same of the product's own
namespace. What you may not read is named in it and left out.

Secrets are never read. What looks like a password, a token or a key anywhere else is taken out; look through it all the same
before you pass it on.`,
		Example: `  kubectl valkey support-bundle -n demo
  kubectl valkey support-bundle -o /tmp/for-support.tar.gz --log-lines 500`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("it is about the namespace: name nothing")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "File to write. Default: the namespace and the time.")
	cmd.Flags().Int64Var(&lines, "log-lines", defaultLogLines, "The most lines of each log.")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if lines < 1 {
			return usagef("--log-lines must be positive")
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		now := a.Now()
		if file == "" {
			file = "valkey-support-" + clients.Namespace + "-" + now.UTC().Format("20060102T150405Z") + ".tar.gz"
		}
		part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.part") // mode 0600
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(part.Name()) }()
		progress := a.progress()
		contents, err := bundle.Write(cmd.Context(), part, clients, bundle.Options{
			Lines: lines, Bytes: maxLogBytes, Version: version.String(), Now: now, Tell: func(what string) { progress.Show("collecting " + what) },
		})
		progress.Clear()
		if err = errors.Join(err, part.Close()); err != nil {
			return err
		}
		if err := os.Rename(part.Name(), file); err != nil {
			return err
		}
		_, _ = fmt.Fprintf(a.Out, "%s: %d files\n", file, contents.Files)
		for _, missing := range contents.Missing {
			_, _ = fmt.Fprintf(a.ErrOut, "not in it: %s\n", missing)
		}
		return nil
	}
	return cmd
}
