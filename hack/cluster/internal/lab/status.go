// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/hack/cluster/internal/host"
	"github.com/valkeykube/valkeykube/hack/cluster/internal/state"
)

// Status prints the daemons and the nodes. It returns an error when something that is wanted does not run.
func (l *Lab) Status(ctx context.Context) error {
	l.printf("cluster    %s\nkubeconfig %s\nlogs       %s\naudit log  %s\n\n", l.cluster.Name, l.Kubeconfig(),
		l.cluster.Path("logs"), l.cluster.AuditLog())
	table := tabwriter.NewWriter(l.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DAEMON\tPID\tSTATE")
	bad := 0
	show := func(name string, stopped bool) {
		process, alive := l.daemons.Running(name)
		switch {
		case alive:
			fmt.Fprintf(table, "%s\t%d\trunning\n", name, process.PID)
		case stopped:
			fmt.Fprintf(table, "%s\t-\tstopped\n", name)
		default:
			bad++
			fmt.Fprintf(table, "%s\t-\tnot running\n", name)
		}
	}
	show(state.SupervisorName, false)
	daemons, err := l.daemons.List()
	if err != nil {
		return err
	}
	for _, daemon := range daemons {
		show(daemon.Name, daemon.Stopped)
	}
	fmt.Fprintln(table)
	l.nodeTable(ctx, table)
	if err := table.Flush(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d daemons are not running", bad)
	}
	return nil
}

func (l *Lab) nodeTable(ctx context.Context, table *tabwriter.Writer) {
	fmt.Fprintln(table, "NODE\tADDRESS\tCABLE\tREADY")
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, clientErr := l.client()
	for _, node := range l.cluster.Nodes {
		cable := "none"
		if up, err := host.LinkIsUp(l.cluster.Netns(), node.Port); err == nil {
			cable = map[bool]string{true: "in", false: "cut"}[up]
		}
		readiness := "unknown"
		if clientErr == nil {
			if object, err := client.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{}); err == nil {
				readiness = fmt.Sprint(nodeReady(object))
			}
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", node.Name, strings.Join(node.Addresses, ","), cable, readiness)
	}
}
