// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// lookTimeout bounds the look at one server: one that hangs must not hold up other nodes.
const lookTimeout = 4 * time.Second

// look asks the server in the pod what it is and how it is configured. A server that does not answer is a result, not an error.
func (r *reconciler) look(ctx context.Context, node *v1alpha1.ValkeyNode, pod *corev1.Pod, password string) plan.Server {
	if !plan.Answers(pod) {
		return plan.Server{}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	server := plan.Server{}
	valkeyNode, err := r.deps.Valkey.Node(target(node, pod, password))
	if err == nil {
		err = ask(ctx, valkeyNode, node, &server)
	}
	if err != nil {
		server.Reach = topology.Reach{Class: reachOf(err), Text: err.Error()}
	}
	server.Reach.When = r.now()
	return server
}

// target is the server by the pod's own address: this look is about this pod, and must work while the cluster's DNS does not.
func target(node *v1alpha1.ValkeyNode, pod *corev1.Pod, password string) valkeyclient.Target {
	of := valkeyclient.Target{
		Name:    node.Name,
		Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortValkey)),
	}
	if password != "" {
		of.Credentials = valkeyclient.Credentials{Username: naming.UserOperator, Password: password}
	}
	return of
}

func ask(ctx context.Context, valkeyNode valkeyclient.Node, node *v1alpha1.ValkeyNode, server *plan.Server) error {
	status, err := valkeyNode.Status(ctx)
	if err != nil {
		return err
	}
	server.RunID, server.Version = status.RunID, status.Version
	server.Role = topology.Role(status.Replication.Role)
	server.Primary = topology.Address(status.Replication.Primary)
	if status.Loading {
		server.Reach = topology.Reach{Class: topology.ReachLoading, Text: "the dataset is being read"}
		return nil
	}
	server.Reach = topology.Reach{Class: topology.ReachOK}
	live := plan.LiveConfig(node, status.Version)
	keys := make([]string, 0, len(live))
	for _, directive := range live {
		keys = append(keys, directive.Name)
	}
	if server.Config, err = valkeyNode.ConfigGet(ctx, keys...); err != nil {
		return err
	}
	if node.Spec.UsersACLSecretName != "" {
		if server.ACL, err = valkeyNode.ACLList(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reachOf is the class of a failed look.
func reachOf(err error) topology.ReachClass {
	for _, known := range []struct {
		err   error
		class topology.ReachClass
	}{
		{valkeyclient.ErrUnreachable, topology.ReachUnreachable},
		{valkeyclient.ErrTimeout, topology.ReachTimeout},
		{valkeyclient.ErrAuth, topology.ReachAuth},
		{valkeyclient.ErrPermission, topology.ReachPermission},
		{valkeyclient.ErrTLS, topology.ReachTLS},
		{valkeyclient.ErrLoading, topology.ReachLoading},
	} {
		if errors.Is(err, known.err) {
			return known.class
		}
	}
	return topology.ReachError
}
