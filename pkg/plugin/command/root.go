// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/console"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
	"github.com/valkeykube/valkeykube/pkg/version"
)

// name is how people call it.
const name = "kubectl valkey"

// App is what the commands need of the process that they run in.
type App struct {
	genericiooptions.IOStreams
	// Getenv reads the environment. Now is the clock.
	Getenv func(string) string
	Now    func() time.Time

	flags *genericclioptions.ConfigFlags
	// began: the command line made sense.
	began bool
}

// Run carries out a command line, and returns the exit code. What went wrong has been printed.
func Run(ctx context.Context, app *App, args []string) int {
	root := app.command()
	root.SetArgs(args)
	failed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	if !app.began {
		err = usageError{err}
	}
	code := codeOf(err)
	if !errors.Is(err, console.ErrAnswered) { // that has been printed as the answer
		_, _ = fmt.Fprintf(app.ErrOut, "error: %v\n", err)
	}
	if code == ExitUsage && failed != nil {
		_, _ = fmt.Fprintf(app.ErrOut, "See '%s --help'.\n", failed.CommandPath())
	}
	return code
}

// command is the root with all commands below it.
func (a *App) command() *cobra.Command {
	a.flags = genericclioptions.NewConfigFlags(true).WithWarningPrinter(a.IOStreams)
	root := &cobra.Command{
		Use:   "kubectl-valkey",
		Short: "See and steer Valkeys on Kubernetes",
		Long: `See and steer Valkeys on Kubernetes.

Exit codes:
  0  done
  1  failed
  2  the command line makes no sense; nothing was asked
  3  refused, or not possible now; nothing was changed, and the same may be granted later
  4  begun, and still running`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.began = true
		},
		Version: version.String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	a.flags.AddFlags(root.PersistentFlags())
	root.AddCommand(a.status(), a.failover(), a.monitors(), a.replication(), a.snapshot(), a.cli(), a.credentials(), a.connect(),
		a.describeBoot(), a.supportBundle(), a.version())
	a.completeFlags(root)
	return root
}

// connectTo makes the clients that the flags name. It dials nothing.
func (a *App) connectTo() (*cluster.Clients, error) {
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	return cluster.Connect(config, namespace, "kubectl-valkey/"+version.String())
}

// terminal is the file behind a stream, if that is a terminal.
func terminal(stream any) (*os.File, bool) {
	file, ok := stream.(*os.File)
	return file, ok && term.IsTerminal(int(file.Fd())) //nolint:gosec // a file descriptor is a small number
}

// palette is that of a stream: colours are for terminals whose owner did not say no.
func (a *App) palette(stream any) screen.Palette {
	_, isTerminal := terminal(stream)
	return screen.NewPalette(isTerminal && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb")
}

// progress is shown on the stream of errors, so that it is in nobody's way.
func (a *App) progress() *screen.Progress {
	_, isTerminal := terminal(a.ErrOut)
	return screen.NewProgress(a.ErrOut, isTerminal && a.Getenv("TERM") != "dumb")
}
