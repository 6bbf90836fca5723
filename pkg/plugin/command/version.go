// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
	"github.com/valkeykube/valkeykube/pkg/version"
)

// versions is what the command prints for programs.
type versions struct {
	Plugin string `json:"plugin"`
	// Cluster is left out with --client.
	Cluster *cluster.Installation `json:"cluster,omitempty"`
}

func (a *App) version() *cobra.Command {
	var clientOnly bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the plugin and of what it talks to",
		Example: `  kubectl valkey version
  kubectl valkey version --client`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("name nothing")
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Only the plugin's; nobody is asked.")
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(); err != nil {
			return err
		}
		found := versions{Plugin: version.String()}
		if !clientOnly {
			clients, err := a.connectTo()
			if err != nil {
				return err
			}
			installation := clients.Installation(cmd.Context())
			found.Cluster = &installation
		}
		if !out.forPeople() {
			return out.print(a.Out, found)
		}
		a.printVersions(found)
		return nil
	}
	return cmd
}

func (a *App) printVersions(found versions) {
	p := a.palette(a.Out)
	table := screen.Table{}
	table.Row("Plugin", found.Plugin)
	if in := found.Cluster; in != nil {
		table.Row("Kubernetes", cmp.Or(in.Kubernetes, "unknown"))
		table.Row("API available", cmp.Or(in.Available, "unknown"))
		table.Row("Installed in", in.Namespace)
		for _, name := range slices.Sorted(maps.Keys(in.Images)) {
			table.Row("  "+name, in.Images[name])
		}
		for _, unknown := range in.Unknown {
			table.Row("Could not be asked", screen.Cell{Text: unknown, Paint: p.Doubtful})
		}
	}
	table.Write(a.Out, "")
}
