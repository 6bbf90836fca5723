// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

func (a *App) replication() *cobra.Command {
	var again bool
	cmd := &cobra.Command{
		Use:   "replication VALKEY",
		Short: "Show what each member of a Valkey says about replication now",
		Long: `Show what each member of a Valkey says now: its role, whom it follows, whether it is in sync, how far it lags behind the
primary in bytes, and how many Sentinels name it as the primary. If no member answers, that is exit code 3.`,
		Example: `  kubectl valkey replication cache
  kubectl valkey replication cache -o json | jq '.members[].lagBytes'`,
		Args:              oneName("Valkey"),
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().BoolVarP(&again, "watch", "w", false, "Go on showing it until interrupted.")
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		show := func(ctx context.Context, w io.Writer) error {
			seen, err := clients.Replication(ctx, args[0])
			switch {
			case err != nil:
				return err
			case !out.forPeople():
				return out.print(w, seen)
			}
			screen.Replication(w, seen, a.palette(a.Out))
			return nil
		}
		if !again {
			return show(cmd.Context(), a.Out)
		}
		if !out.forPeople() {
			return usagef("--watch is for people: not together with -o %s", out.form)
		}
		return a.repeat(cmd.Context(), time.Second, show)
	}
	return cmd
}

func (a *App) monitors() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "monitors [VALKEYSENTINEL]",
		Short: "Show what the Sentinels hold about their primaries now",
		Long: `Show the monitors of a ValkeySentinel, or of all in the namespace, as its Sentinels hold them now: the primary they name,
whether they agree, and whether a failover could be authorised. -o wide shows below each what every single Sentinel says.

With --watch, a line for each change as the Sentinels announce it.`,
		Example: `  kubectl valkey monitors
  kubectl valkey monitors watch -o wide
  kubectl valkey monitors --watch`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("name one ValkeySentinel, or none")
			}
			return nil
		},
		ValidArgsFunction: a.completeSentinel(),
	}
	cmd.Flags().BoolVarP(&follow, "watch", "w", false, "Go on with what changes until interrupted.")
	out := newOutput(cmd, asTable, asWide)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if follow && out.form == asWide {
			return usagef("not together: --watch and -o wide")
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		set := strings.Join(args, "")
		if set != "" { // one that does not exist is not one without monitors
			if _, err := clients.Sentinel(cmd.Context(), set); err != nil {
				return err
			}
		}
		if follow {
			return a.followMonitors(cmd.Context(), clients, set, out)
		}
		list, err := clients.Monitors(cmd.Context(), set)
		switch {
		case err != nil:
			return err
		case !out.forPeople():
			return out.print(a.Out, list)
		case len(list.Items) == 0:
			_, err := fmt.Fprintln(a.Out, "No monitors.")
			return err
		}
		screen.Monitors(a.Out, list, out.form == asWide, a.palette(a.Out))
		return nil
	}
	return cmd
}

// errWatchEnded: the server ended the watch; it is begun anew.
var errWatchEnded = errors.New("the watch has ended")

// followMonitors prints changes until ctx ends. A watch that the server ends is begun again, and tells again only what has changed.
func (a *App) followMonitors(ctx context.Context, clients *cluster.Clients, set string, out *output) error {
	printer := &changes{app: a, out: out, set: set, known: map[string]string{}}
	printer.table.Heading = append([]string{"TIME", "EVENT"}, screen.MonitorsHeading...)
	for began := false; ; began = true {
		err := printer.follow(ctx, clients)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, errWatchEnded), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		case err != nil && !began:
			return err
		case err != nil:
			_, _ = fmt.Fprintf(a.ErrOut, "again: %v\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// changes prints monitors as they change.
type changes struct {
	app *App
	out *output
	set string
	// known is what was printed last, by name.
	known map[string]string
	table screen.Table
}

func (c *changes) follow(ctx context.Context, clients *cluster.Clients) error {
	watcher, err := clients.API.Monitors(clients.Namespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return apierrors.FromObject(event.Object)
		}
		monitor, ok := event.Object.(*v1alpha1.Monitor)
		if !ok || c.set != "" && monitor.Sentinel != c.set {
			continue
		}
		if err := c.print(event.Type, monitor); err != nil {
			return err
		}
	}
	return errWatchEnded
}

func (c *changes) print(kind watch.EventType, monitor *v1alpha1.Monitor) error {
	if !c.out.forPeople() {
		monitor.APIVersion, monitor.Kind = v1alpha1.SchemeGroupVersion.String(), "Monitor"
		if c.out.form == asYAML {
			_, _ = fmt.Fprintln(c.app.Out, "---")
		}
		return c.out.print(c.app.Out, map[string]any{"type": kind, "object": monitor})
	}
	var plain strings.Builder
	row := screen.Table{}
	screen.MonitorRow(&row, monitor, screen.Palette{})
	row.Write(&plain, "")
	switch {
	case kind == watch.Deleted:
		delete(c.known, monitor.Name)
	case c.known[monitor.Name] == plain.String():
		return nil
	default:
		c.known[monitor.Name] = plain.String()
	}
	screen.MonitorRow(&c.table, monitor, c.app.palette(c.app.Out))
	c.table.Lead(c.app.Now().UTC().Format("15:04:05"), strings.ToLower(string(kind)))
	c.table.Write(c.app.Out, "")
	c.table.Next()
	return nil
}
