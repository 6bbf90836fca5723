// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"golang.org/x/sync/errgroup"

	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/screen"
)

func (a *App) describeBoot() *cobra.Command {
	var node, pod, set string
	cmd := &cobra.Command{
		Use:   "describe-boot [VALKEY]",
		Short: "Tell how the servers of a Valkey were started, and why so",
		Long: `Ask the agent in each pod of a Valkey how its server was started: what it decided, by which rule and why, what it knew then, and
what it sees now. This is where to look when a pod does not start: it says whom it waits for.

The connection goes through the cluster's API server into the pod (create pods/portforward, or get pods/proxy).`,
		Example: `  kubectl valkey describe-boot cache
  kubectl valkey describe-boot cache --node 1
  kubectl valkey describe-boot --sentinel watch
  kubectl valkey describe-boot --pod valkey-cache-0-0 -o json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("name one Valkey")
			}
			return nil
		},
		ValidArgsFunction: a.completeValkey(),
	}
	cmd.Flags().StringVar(&node, "node", "", "Only this node: its name, or its number.")
	cmd.Flags().StringVar(&set, "sentinel", "", "The Sentinels of this ValkeySentinel.")
	cmd.Flags().StringVar(&pod, "pod", "", "Only this pod.")
	_ = cmd.RegisterFlagCompletionFunc("node", a.completeNode())
	_ = cmd.RegisterFlagCompletionFunc("sentinel", a.completeSentinel())
	out := newOutput(cmd, asTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := out.check(); err != nil {
			return err
		}
		named := len(args)
		for _, flag := range []string{pod, set} {
			if flag != "" {
				named++
			}
		}
		if named != 1 || node != "" && len(args) == 0 {
			return usagef("name a Valkey, or --sentinel, or --pod; --node goes with a Valkey")
		}
		clients, err := a.connectTo()
		if err != nil {
			return err
		}
		pods, err := podsToAsk(cmd.Context(), clients, args, node, set, pod)
		if err != nil {
			return err
		}
		return a.tellBoots(cmd.Context(), clients, pods, out)
	}
	return cmd
}

func podsToAsk(ctx context.Context, clients *cluster.Clients, args []string, node, set, pod string) ([]string, error) {
	switch {
	case pod != "":
		return []string{pod}, nil
	case set != "":
		found, err := clients.Sentinel(ctx, set)
		if err != nil {
			return nil, err
		}
		pods := make([]string, 0, found.Spec.Replicas)
		for i := range int(found.Spec.Replicas) {
			pods = append(pods, naming.SentinelPod(set, i))
		}
		return pods, nil
	case node != "":
		pod, err := clients.PodOfNode(ctx, nodeOf(args[0], node))
		return []string{pod}, err
	}
	valkey, err := clients.Valkey(ctx, args[0])
	if err != nil {
		return nil, err
	}
	pods := make([]string, 0, valkey.Spec.Replicas+1)
	for i := range int(valkey.Spec.Replicas) + 1 {
		pod, err := clients.PodOfNode(ctx, naming.NodeName(args[0], i))
		if err != nil {
			pod = naming.NodePod(naming.NodeName(args[0], i)) // asking it says what is wrong
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// tellBoots asks all agents at once. It fails if none answers.
func (a *App) tellBoots(ctx context.Context, clients *cluster.Clients, pods []string, out *output) error {
	reports := make([]screen.BootReport, len(pods))
	var asked errgroup.Group
	for i, pod := range pods {
		asked.Go(func() error {
			reports[i].Pod = pod
			report, err := clients.BootReport(ctx, pod)
			if err != nil {
				reports[i].Error = err.Error()
				return nil
			}
			reports[i].Report = report
			return nil
		})
	}
	_ = asked.Wait()
	if out.forPeople() {
		screen.Boot(a.Out, reports, a.Now(), a.palette(a.Out))
	} else if err := out.print(a.Out, reports); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Report != nil {
			return nil
		}
	}
	return errors.New("no agent answers")
}
