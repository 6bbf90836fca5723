// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

func (a *App) status() *cobra.Command {
	var watch bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "status [VALKEY]",
		Short: "Show a Valkey on one screen, or all of the namespace",
		Long: `Show a Valkey on one screen: its primary and the last failover, what each member and each Sentinel says now, the pods,
and the conditions. Without a name, a line for each Valkey of the namespace, by what is on record.

What does not answer is shown as such; only a Valkey that cannot be read is an error.`,
		Example: `  kubectl valkey status
  kubectl valkey status cache
  kubectl valkey status cache --watch
  kubectl valkey status cache -o yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("name one Valkey, or none")
			}
			return nil
		},
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Go on showing it until interrupted. Where the output is no terminal, it is printed when it changes.")
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "How often to look, with --watch. More often than once a second shows nothing more.")
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if watch && !out.forPeople() {
			return usagef("--watch is for people: not together with -o %s", out.form)
		}
		if interval <= 0 {
			return usagef("--interval must be positive")
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		show := func(ctx context.Context, w io.Writer) error { return a.showStatus(ctx, w, clients, args, out) }
		if watch {
			return a.repeat(cmd.Context(), interval, show)
		}
		return show(cmd.Context(), a.Out)
	}
	return cmd
}

func (a *App) showStatus(ctx context.Context, w io.Writer, clients *cluster.Clients, args []string, out *output) error {
	if len(args) == 0 {
		list, err := clients.Valkeys(ctx)
		switch {
		case err != nil:
			return err
		case !out.forPeople():
			return out.print(w, list)
		case len(list.Items) == 0:
			_, err := fmt.Fprintf(w, "No Valkeys in namespace %s.\n", clients.Namespace)
			return err
		}
		screen.Summary(w, list, a.Now(), a.palette(a.Out))
		return nil
	}
	seen, err := clients.Overview(ctx, args[0])
	if err != nil {
		return err
	}
	if !out.forPeople() {
		return out.print(w, seen)
	}
	screen.Status(w, seen, a.Now(), a.palette(a.Out))
	return nil
}

const (
	clearScreen = "\x1b[H\x1b[2J"
	home        = "\x1b[H"
	clearToEnd  = "\x1b[K"
	clearBelow  = "\x1b[J"
)

// repeat shows again and again until ctx ends. The first failure is one; later ones are shown, since what is watched may come back.
func (a *App) repeat(ctx context.Context, interval time.Duration, show func(context.Context, io.Writer) error) error {
	_, isTerminal := terminal(a.Out)
	begin, last := clearScreen, ""
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		var text bytes.Buffer
		err := show(ctx, &text)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && last == "":
			return err
		case err != nil:
			text.Reset()
			_, _ = fmt.Fprintf(&text, "error: %v\n", err)
		}
		switch now := text.String(); {
		case isTerminal:
			// Over what is there, so that nothing flickers.
			_, _ = io.WriteString(a.Out, begin+strings.ReplaceAll(now, "\n", clearToEnd+"\n")+clearBelow)
			begin = home
		case now != last:
			_, _ = fmt.Fprintf(a.Out, "--- %s\n%s", a.Now().UTC().Format(time.RFC3339), now)
		}
		last = text.String()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
