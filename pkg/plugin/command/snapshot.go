// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
	"github.com/valkeykube/valkeykube/pkg/plugin/snapshot"
)

// toStdout stands for standard output where a file is named.
const toStdout = "-"

func (a *App) snapshot() *cobra.Command {
	var file string
	var overwrite, quiet bool
	cmd := &cobra.Command{
		Use:   "snapshot VALKEY",
		Short: "Save the dataset of a Valkey as an RDB file",
		Long: `Save the dataset of a Valkey as an RDB file, from a replica that is in sync where there is one.

The file appears when it is whole and proven so: by the length and the SHA-256 that the server tells behind it, and by the end and
the checksum that an RDB has itself. Of a transfer that breaks off nothing remains. It can be read by its owner only: it holds all
of the data. With -o - it goes to standard output, where only the exit code tells whether it is whole.

One snapshot of a Valkey is taken at a time; a second one meanwhile is exit code 3.`,
		Example: `  kubectl valkey snapshot cache
  kubectl valkey snapshot cache -o /backup/cache.rdb --overwrite
  kubectl valkey snapshot cache -o - | zstd > cache.rdb.zst`,
		Args:              oneName("Valkey"),
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", `File to write; "-" is standard output. Default: the Valkey's name and the time.`)
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "Replace a file that is there.")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "Print nothing unless it fails.")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if _, isTerminal := terminal(a.Out); file == toStdout && isTerminal {
			return usagef("an RDB is not for a terminal: send standard output somewhere else")
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		if file == "" {
			file = args[0] + "-" + a.Now().UTC().Format("20060102T150405Z") + ".rdb"
		}
		return a.takeSnapshot(cmd.Context(), clients, args[0], file, overwrite, quiet)
	}
	return cmd
}

func (a *App) takeSnapshot(ctx context.Context, clients *cluster.Clients, valkey, file string, overwrite, quiet bool) error {
	source := snapshot.Source{Config: clients.Config, Request: clients.SnapshotRequest(valkey)}
	progress := a.progress()
	if !quiet {
		a.showSnapshot(&source, progress)
		progress.Show("waiting until a server begins to send")
	}
	var result snapshot.Result
	var err error
	if file == toStdout {
		result, err = source.Receive(ctx, a.Out)
	} else {
		result, err = source.ToFile(ctx, file, overwrite)
	}
	progress.Clear()
	switch {
	case errors.Is(err, snapshot.ErrExists):
		return usageError{fmt.Errorf("%w: --overwrite replaces it", err)}
	case err != nil:
		return err
	case quiet:
		return nil
	}
	// Standard output may be the snapshot.
	_, _ = fmt.Fprintf(a.ErrOut, "%s of %s, %s from %s (%s) in %.1fs\nverified: %s\nSHA-256 %s\n",
		where(result), valkey, screen.Bytes(result.Bytes), result.Node, result.Role, result.Duration.Duration.Seconds(), strings.Join(result.Checked, ", "), result.SHA256)
	return nil
}

func where(result snapshot.Result) string {
	if result.File == "" {
		return "snapshot"
	}
	return "snapshot " + result.File
}

// showSnapshot makes the transfer be shown. How long an RDB will be, the server does not know itself.
func (a *App) showSnapshot(source *snapshot.Source, progress *screen.Progress) {
	began, last, step := time.Now(), time.Time{}, 0
	source.Began = func(node, role string) {
		began = time.Now()
		progress.Show("receiving from " + node + " (" + role + ")")
	}
	source.Came = func(total int64) {
		now := time.Now()
		if now.Sub(last) < 100*time.Millisecond {
			return
		}
		last, step = now, step+1
		elapsed := max(now.Sub(began).Seconds(), 0.001)
		progress.Show(fmt.Sprintf("%s %s  %s/s  %.0fs", screen.MovingBar(step), screen.Bytes(total), screen.Bytes(int64(float64(total)/elapsed)), elapsed))
	}
}
