// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/lab"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/plan"
)

// command is a subcommand. Those without help are for the cluster's own daemons.
type command struct {
	name, arguments, help string
	run                   func(ctx context.Context, o options) error
}

// options are what all subcommands are called with.
type options struct {
	name, sources, program string
	programs               lab.Programs
	kill                   bool
	shape                  plan.Shape
	args                   []string
}

func commands() []command {
	return []command{
		{"build", "", "download and compile whatever is missing in the cache", runBuild},
		{"up", "", "bring the cluster up; changes nothing when it is up; with --domain NAME or --family ipv6|dual a new one of that DNS domain, or with those addresses", runUp},
		{"down", "", "remove the cluster and everything that is left of it", runDown},
		{"status", "", "show daemons and nodes", runStatus},
		{"kubeconfig", "", "print the path of the kubeconfig", runKubeconfig},
		{"images", "", "assemble the images; with --product-bin DIR the product's too, with --clients DIR that of client libraries, with --musl Valkey on musl", runImages},
		{"load", "", "load images that changed into the nodes; with --product-bin DIR the product's too, with --clients DIR that of client libraries, with --musl Valkey on musl", runLoad},
		{"cut", "NODE", "take a node's network cable out", runCut},
		{"heal", "NODE", "put a node's network cable back in", runHeal},
		{"stop-node", "NODE", "lose a node: end all its processes at once", runStopNode},
		{"start-node", "NODE", "start a stopped node again and wait until it is Ready", runStartNode},
		{"signal", "SIGNAL NAMESPACE POD CONTAINER", "signal all processes of a container, or those of --program NAME: SIGKILL, SIGSTOP, SIGCONT", runSignal},
		{"block", "NAMESPACE POD CONTAINER ADDRESS PORT", "drop what a container's pod is sent from an address to a port", runBlock},
		{"unblock", "NAMESPACE POD CONTAINER", "undo block", runUnblock},
		{"restart", "DAEMON", "end a daemon, with --kill at once, and wait until it runs again", runRestart},
		{"stop", "DAEMON", "keep a daemon down", runStop},
		{"start", "DAEMON", "undo stop", runStart},
		{"supervise", "", "", runSupervise},
		{"enter", "", "", runEnter},
		{"forward", "", "", runForward},
		{"provision", "", "", runProvision},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := dispatch(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		usage()
		return nil
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		if c.help == "" {
			return c.run(ctx, options{args: args[1:]})
		}
		o, err := parse(c, args[1:])
		if err != nil {
			return err
		}
		return c.run(ctx, o)
	}
	return fmt.Errorf("unknown command %q: see 'cluster help'", args[0])
}

// parse takes flags before and after the argument.
func parse(c command, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
	name := os.Getenv("CLUSTER")
	if name == "" {
		name = "demo"
	}
	flags.StringVar(&o.name, "name", name, "the cluster's name (also CLUSTER)")
	flags.StringVar(&o.sources, "sources", ".", "the hack/cluster folder of a checkout")
	flags.StringVar(&o.programs.Product, "product-bin", "", "folder with the product's static programs")
	flags.StringVar(&o.programs.Clients, "clients", "", "folder with the client programs of the tests")
	flags.BoolVar(&o.programs.Musl, "musl", false, "Valkey on musl too, which takes a C compiler")
	flags.StringVar(&o.program, "program", "", "of the processes, only those that run this program")
	flags.StringVar(&o.shape.Domain, "domain", "", "of a new cluster, the DNS domain (default "+plan.DefaultDomain+")")
	flags.StringVar((*string)(&o.shape.Family), "family", "", "of a new cluster, the addresses: ipv4, ipv6 or dual (default ipv4)")
	flags.BoolVar(&o.kill, "kill", false, "end at once")
	for {
		if err := flags.Parse(args); err != nil {
			return o, err
		}
		if flags.NArg() == 0 {
			break
		}
		o.args = append(o.args, flags.Arg(0))
		args = flags.Args()[1:]
	}
	want := len(strings.Fields(c.arguments))
	if len(o.args) != want {
		return o, errors.New(strings.TrimSpace("usage: cluster " + c.name + " " + c.arguments))
	}
	return o, nil
}

func usage() {
	fmt.Println("usage: cluster COMMAND [--name NAME]\n\nA real three-node Kubernetes on this machine.")
	for _, c := range commands() {
		if c.help != "" {
			fmt.Printf("  %-20s %s\n", strings.TrimSpace(c.name+" "+c.arguments), c.help)
		}
	}
}
