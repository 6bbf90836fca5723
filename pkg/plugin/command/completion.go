// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/valkeykube/valkeykube/pkg/plugin/cluster"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
)

// completionPatience bounds what a person waits for behind the tabulator key.
const completionPatience = 3 * time.Second

type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// fromCluster completes with names that are read from the cluster; nothing where that fails.
func (a *App) fromCluster(read func(ctx context.Context, clients *cluster.Clients, args []string) []string) completion {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		clients, err := a.connectTo()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		return read(ctx, clients, args), cobra.ShellCompDirectiveNoFileComp
	}
}

// namesIn are the names of the objects in a list.
func namesIn(list runtime.Object) []string {
	var names []string
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			names = append(names, object.GetName())
		}
		return err
	})
	return names
}

// completeValkey completes the name of a Valkey, as the first argument.
func (a *App) completeValkey() completion {
	return a.fromCluster(func(ctx context.Context, clients *cluster.Clients, args []string) []string {
		if len(args) > 0 {
			return nil
		}
		list, err := clients.Valkeys(ctx)
		if err != nil {
			return nil
		}
		return namesIn(list)
	})
}

// completeSentinel completes the name of a ValkeySentinel.
func (a *App) completeSentinel() completion {
	return a.fromCluster(func(ctx context.Context, clients *cluster.Clients, _ []string) []string {
		list, err := clients.API.ValkeySentinels(clients.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil
		}
		return namesIn(list)
	})
}

// completeNode completes a node of the Valkey that is named already.
func (a *App) completeNode() completion {
	return a.fromCluster(func(ctx context.Context, clients *cluster.Clients, args []string) []string {
		if len(args) == 0 {
			return nil
		}
		valkey, err := clients.Valkey(ctx, args[0])
		if err != nil {
			return nil
		}
		names := make([]string, 0, len(valkey.Status.Members))
		for _, member := range valkey.Status.Members {
			names = append(names, member.Node)
		}
		return names
	})
}

// completeUser completes a user of the Valkey that is named already.
func (a *App) completeUser() completion {
	return a.fromCluster(func(ctx context.Context, clients *cluster.Clients, args []string) []string {
		if len(args) == 0 {
			return nil
		}
		valkey, err := clients.Valkey(ctx, args[0])
		if err != nil {
			return nil
		}
		var names []string
		for _, account := range credential.OfValkey(valkey, false) {
			names = append(names, account.User)
		}
		return names
	})
}

// completeFlags completes the flags that all commands have.
func (a *App) completeFlags(root *cobra.Command) {
	_ = root.RegisterFlagCompletionFunc("namespace", a.fromCluster(func(ctx context.Context, clients *cluster.Clients, _ []string) []string {
		list, err := clients.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil
		}
		return namesIn(list)
	}))
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		config, err := a.flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]string, 0, len(config.Contexts))
		for name := range config.Contexts {
			names = append(names, name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
}
