// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

const (
	// maxTimeout is the longest that the API waits, in seconds.
	maxTimeout = 30
	// pollEvery is how often the end of a failover is looked for.
	pollEvery = 500 * time.Millisecond
)

// failoverFlags are those of the command.
type failoverFlags struct {
	to            string
	force, dryRun bool
	timeout, wait time.Duration
}

func (a *App) failover() *cobra.Command {
	flags := failoverFlags{}
	cmd := &cobra.Command{
		Use:   "failover VALKEY",
		Short: "Make another node of a Valkey the primary",
		Long: `Make another node of a Valkey the primary: the one named by --to, else the one that Sentinel would choose.

As a rule it is a hand-over: writes pause, the new primary catches up, and nothing that was acknowledged is lost. With --force it
is not waited for, which is for a primary that does not answer: what only the old one had is lost, and the answer says who held it.

What is refused has changed nothing and is exit code 3. Interrupting the command does not end what it has begun. A failover that
goes on when --wait is over is exit code 4.`,
		Example: `  kubectl valkey failover cache --dry-run
  kubectl valkey failover cache
  kubectl valkey failover cache --to cache-2
  kubectl valkey failover cache --force`,
		Args:              oneName("Valkey"),
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().StringVar(&flags.to, "to", "", "Node that is to be primary: its name, or its number.")
	cmd.Flags().BoolVar(&flags.force, "force", false, "Do not wait until the new primary has everything. Acknowledged writes may be lost.")
	cmd.Flags().BoolVar(&flags.dryRun, "dry-run", false, "Only say whether it would be possible now, and from whom to whom.")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 25*time.Second, "How long the failover may take before it is undone, or goes on by itself; 30s at most.")
	cmd.Flags().DurationVar(&flags.wait, "wait", time.Minute, "How long to follow one that goes on by itself.")
	_ = cmd.RegisterFlagCompletionFunc("to", a.completeNode())
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		if flags.timeout < time.Second || flags.timeout > maxTimeout*time.Second {
			return usagef("--timeout must be between 1s and %ds", maxTimeout)
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		return a.runFailover(cmd.Context(), clients, args[0], flags, out)
	}
	return cmd
}

func (a *App) runFailover(ctx context.Context, clients *cluster.Clients, valkey string, flags failoverFlags, out *output) error {
	progress := a.progress()
	stop := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		a.showFailover(ctx, clients, valkey, flags, progress, stop)
	}()
	answer, err := clients.Failover(ctx, valkey, request(valkey, flags), flags.dryRun)
	if err == nil && answer.Status.Phase == v1alpha1.OperationInProgress && !flags.dryRun {
		err = a.awaitEnd(ctx, clients, valkey, answer, flags.wait)
	}
	close(stop)
	<-shown
	progress.Clear()
	if answer == nil {
		return err
	}
	return a.tellFailover(answer, flags, out, err)
}

// request is what is asked for. A node may be named by its number.
func request(valkey string, flags failoverFlags) v1alpha1.FailoverRequestSpec {
	spec := v1alpha1.FailoverRequestSpec{
		To: nodeOf(valkey, flags.to), Mode: v1alpha1.FailoverCoordinated, TimeoutSeconds: int32(flags.timeout / time.Second),
	}
	if flags.force {
		spec.Mode = v1alpha1.FailoverForced
	}
	return spec
}

// nodeOf is the name of a node that may be given by its number.
func nodeOf(valkey, node string) string {
	if node != "" && strings.Trim(node, "0123456789") == "" {
		return valkey + "-" + node
	}
	return node
}

// showFailover shows how far it is until stop is closed.
func (a *App) showFailover(ctx context.Context, clients *cluster.Clients, valkey string, flags failoverFlags, progress *screen.Progress, stop <-chan struct{}) {
	began, ticker := time.Now(), time.NewTicker(pollEvery/2)
	defer ticker.Stop()
	said := "asking"
	for step := 0; ; step++ {
		if step%2 == 0 && !flags.dryRun {
			if found, err := clients.Valkey(ctx, valkey); err == nil {
				if o := found.Status.Operation; o != nil && o.Phase == v1alpha1.OperationInProgress {
					said = fmt.Sprintf("%s to %s, claimed by %s", o.From, cmp.Or(o.To, "any"), cmp.Or(o.RequestedBy, "somebody"))
					select {
					case <-stop: // the answer says more
					default:
						progress.Note("failover of " + valkey + ": " + said)
					}
				}
			}
		}
		elapsed := time.Since(began)
		progress.Show(fmt.Sprintf("%s %4.1fs of %s  %s", screen.Bar(elapsed, flags.timeout), elapsed.Seconds(), flags.timeout, said))
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// awaitEnd follows a failover that goes on by itself, and puts how it ended into the answer.
func (a *App) awaitEnd(ctx context.Context, clients *cluster.Clients, valkey string, answer *v1alpha1.Failover, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if found, err := clients.Valkey(ctx, valkey); err == nil && ended(found, &answer.Status) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errRunning
		case <-time.After(pollEvery):
		}
	}
}

// ended tells whether an operation has, as far as it is on record, and takes over how.
func ended(valkey *v1alpha1.Valkey, status *v1alpha1.FailoverRequestStatus) bool {
	record := valkey.Status
	if o := record.Operation; o != nil && o.UID == status.OperationUID && o.Phase != v1alpha1.OperationInProgress && o.Phase != v1alpha1.OperationPending {
		status.Phase, status.To, status.Message = o.Phase, cmp.Or(o.To, status.To), o.Message
		return true
	}
	if f := record.LastFailover; f != nil && !f.StartedAt.Before(&status.StartedAt) && f.From == status.From {
		status.Phase, status.To, status.Duration = v1alpha1.OperationSucceeded, f.To, f.Duration
		return true
	}
	return false
}

// tellFailover prints the answer; err is why its end is not known.
func (a *App) tellFailover(answer *v1alpha1.Failover, flags failoverFlags, out *output, err error) error {
	status := &answer.Status
	if !out.forPeople() {
		answer.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Failover"}
		if printErr := out.print(a.Out, answer); printErr != nil {
			return printErr
		}
	} else {
		_, _ = fmt.Fprintln(a.Out, sentence(answer, flags.dryRun))
	}
	switch {
	case err != nil:
		return err
	case status.Phase == v1alpha1.OperationFailed:
		return fmt.Errorf("the failover failed: %s", cmp.Or(status.Message, "no reason is given"))
	}
	return nil
}

func sentence(answer *v1alpha1.Failover, dryRun bool) string {
	status := &answer.Status
	way := fmt.Sprintf("%s to %s", cmp.Or(status.From, "nobody"), cmp.Or(status.To, "any"))
	if dryRun {
		text := fmt.Sprintf("failover of %s: possible now, %s (dry run)", answer.Name, way)
		if status.Message != "" {
			text += "; " + status.Message
		}
		return text
	}
	text := fmt.Sprintf("failover of %s: %s, %s", answer.Name, status.Phase, way)
	if status.Coordinated {
		text += ", coordinated"
	}
	if status.Duration != nil {
		text += ", took " + status.Duration.Duration.String()
	}
	if status.Message != "" {
		text += "; " + status.Message
	}
	return text
}
