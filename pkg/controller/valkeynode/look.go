// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/inspect"
	"github.com/valkeykube/valkeykube/pkg/naming"
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
	of := r.target(ctx, node, pod, password)
	inspector := inspect.Inspector{Clients: r.deps.Valkey, Now: r.now}
	member := inspector.Look(ctx, inspect.Subject{Members: []inspect.Member{{Target: of}}}).Members[0]
	server := plan.Server{
		Reach: member.Reach, Listeners: member.Listeners, RunID: member.RunID, Version: member.Version, Role: member.Role, Primary: member.Primary,
	}
	if !server.Reach.OK() {
		return server
	}
	if err := r.askConfiguration(ctx, of, node, &server); err != nil {
		// It serves all the same; what it is configured to is not known.
		ctrl.LoggerFrom(ctx).Info("the server does not tell its configuration", "error", err.Error())
	}
	return server
}

// target is the server by the pod's own address: this look is about this pod, and must work while the cluster's DNS does not.
func (r *reconciler) target(ctx context.Context, node *v1alpha1.ValkeyNode, pod *corev1.Pod, password string) valkeyclient.Target {
	of := valkeyclient.Target{
		Name:    node.Name,
		Address: net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(naming.PortValkey)),
	}
	if password != "" {
		of.Credentials = valkeyclient.Credentials{Username: naming.UserOperator, Password: password}
	}
	encryption, err := r.deps.Certificates.NodeEncryption(ctx, node)
	if err != nil {
		// It is not reached then, unless it still speaks plaintext.
		ctrl.LoggerFrom(ctx).V(1).Info("no way to speak TLS", "error", err.Error())
	}
	return encryption.On(of)
}

// askConfiguration fills in the server's live directives and, where it has an ACL file, its users.
func (r *reconciler) askConfiguration(ctx context.Context, of valkeyclient.Target, node *v1alpha1.ValkeyNode, server *plan.Server) error {
	valkeyNode, err := r.deps.Valkey.Node(of)
	if err != nil {
		return err
	}
	live := plan.LiveConfig(node, server.Version)
	keys := make([]string, 0, len(live))
	for _, directive := range live {
		keys = append(keys, directive.Name)
	}
	if node.Spec.TLS.IsOn() {
		keys = append(keys, plan.ListeningKeys()...)
	}
	if server.Config, err = valkeyNode.ConfigGet(ctx, keys...); err != nil {
		return err
	}
	if node.Spec.UsersACLSecretName != "" {
		server.ACL, err = valkeyNode.ACLList(ctx)
	}
	return err
}
