// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/build"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/images"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/lab"
)

func say(format string, args ...any) { fmt.Printf(format, args...) }

// prepared returns the cache with everything in it.
func prepared(o options) (build.Cache, error) {
	cache, err := build.DefaultCache()
	if err != nil {
		return cache, err
	}
	if err := lab.Preflight(say); err != nil {
		return cache, err
	}
	return cache, cache.All(o.sources, os.Stdout)
}

func opened(o options) (*lab.Lab, error) {
	cache, err := build.DefaultCache()
	if err != nil {
		return nil, err
	}
	return lab.Open(o.name, cache, os.Stdout)
}

func runBuild(_ context.Context, o options) error {
	cache, err := prepared(o)
	if err == nil {
		say("everything is built in %s\n", cache.Dir)
	}
	return err
}

func runUp(ctx context.Context, o options) error {
	start := time.Now()
	cache, err := prepared(o)
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, o.name, o.shape, cache, os.Stdout)
	if err != nil {
		return err
	}
	say("cluster %s is up after %s\nexport KUBECONFIG=%s PATH=%s:$PATH\n", o.name, time.Since(start).Round(time.Second),
		l.Kubeconfig(), cache.Kubernetes(""))
	return nil
}

func runDown(_ context.Context, o options) error {
	cache, err := build.DefaultCache()
	if err != nil {
		return err
	}
	if err := lab.Down(o.name, cache, os.Stdout); err != nil {
		return err
	}
	say("cluster %s is down, and nothing of it is left\n", o.name)
	return nil
}

func runStatus(ctx context.Context, o options) error {
	l, err := opened(o)
	if err != nil {
		return err
	}
	return l.Status(ctx)
}

func runKubeconfig(_ context.Context, o options) error {
	l, err := opened(o)
	if err == nil {
		fmt.Println(l.Kubeconfig())
	}
	return err
}

func runImages(_ context.Context, o options) error {
	cache, err := prepared(o)
	if err != nil {
		return err
	}
	archives, err := lab.Assemble(cache, o.programs)
	if err != nil {
		return err
	}
	for _, archive := range archives {
		info, err := os.Stat(archive.Path)
		if err != nil {
			return err
		}
		say("%-45s %5.1f MiB  %s\n", archive.Reference, float64(info.Size())/(1<<20), archive.Path)
	}
	return nil
}

func runLoad(_ context.Context, o options) error {
	l, err := opened(o)
	if err != nil {
		return err
	}
	return l.Load(o.programs)
}

func runCut(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.Cut(o.args[0]) })
}

func runHeal(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.Heal(o.args[0]) })
}

func runStopNode(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.StopNode(o.args[0]) })
}

func runStartNode(ctx context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.StartNode(ctx, o.args[0]) })
}

func runSignal(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error {
		return l.SignalContainer(containerIn(o.args[1:]), o.program, o.args[0])
	})
}

func runBlock(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.BlockPod(containerIn(o.args), o.args[3], o.args[4]) })
}

func runUnblock(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.UnblockPod(containerIn(o.args)) })
}

// containerIn is what NAMESPACE POD CONTAINER names.
func containerIn(args []string) images.Container {
	return images.Container{Namespace: args[0], Pod: args[1], Name: args[2]}
}

func runRestart(ctx context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.Restart(ctx, o.args[0], o.kill) })
}

func runStop(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.StopDaemon(o.args[0]) })
}

func runStart(_ context.Context, o options) error {
	return onLab(o, func(l *lab.Lab) error { return l.StartDaemon(o.args[0]) })
}

func onLab(o options, do func(*lab.Lab) error) error {
	l, err := opened(o)
	if err != nil {
		return err
	}
	return do(l)
}
