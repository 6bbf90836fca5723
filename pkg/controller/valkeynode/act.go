// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeynode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/controller/pastcache"
	"github.com/valkeykube/valkeykube/pkg/controller/valkeynode/plan"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
)

// act carries out the actions, one after the other. They do not depend on each other, so one that fails does not stop the next: a pod must
// come up also where the controller lacks the right to something beside it.
func (r *reconciler) act(ctx context.Context, o plan.Observed, decided plan.Plan) []plan.Outcome {
	outcomes := make([]plan.Outcome, 0, len(decided.Actions))
	for _, action := range decided.Actions {
		outcome := plan.Outcome{Action: action}
		switch action := action.(type) {
		case plan.Apply:
			outcome.Err = r.apply(ctx, action)
		case plan.ReplacePod:
			outcome.Err = r.replacePod(ctx, o.Node.Namespace, action)
		case plan.RefreshMounts:
			outcome.Err = r.refreshMounts(ctx, o.Node.Namespace, action)
		case plan.SetConfig:
			outcome.Reported, outcome.Err = r.setConfig(ctx, o, action)
			outcome.Refused, outcome.ForNow = refusal(outcome.Err)
		case plan.Listen:
			outcome.Err = r.listen(ctx, o, action)
			outcome.Refused, outcome.ForNow = refusal(outcome.Err)
		case plan.LoadACL:
			outcome.Err = r.loadACL(ctx, o)
			outcome.Refused, outcome.ForNow = refusal(outcome.Err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func (r *reconciler) apply(ctx context.Context, action plan.Apply) error {
	if err := r.client.Apply(ctx, action.Config, client.FieldOwner(naming.FieldManager), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply %s %s: %w", action.Kind, action.Name, err)
	}
	return nil
}

// replacePod deletes the pod if it still is the one that was looked at.
func (r *reconciler) replacePod(ctx context.Context, namespace string, action plan.ReplacePod) error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Name}}
	if err := r.client.Delete(ctx, pod, client.Preconditions{UID: &action.UID}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete pod %s: %w", action.Name, err)
	}
	return nil
}

// refreshMounts marks the pod. It is a patch and not an apply: what is applied to pods is another controller's.
func (r *reconciler) refreshMounts(ctx context.Context, namespace string, action plan.RefreshMounts) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": action.UID, "annotations": map[string]string{plan.AnnotationMounts: action.Mark},
	}})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: action.Pod}}
	err = r.client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(naming.FieldManager+"-"+controllerName))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate pod %s: %w", action.Pod, err)
	}
	return nil
}

func (r *reconciler) setConfig(ctx context.Context, o plan.Observed, action plan.SetConfig) (reported string, err error) {
	valkeyNode, err := r.node(ctx, o)
	if err != nil {
		return "", err
	}
	if err := valkeyNode.ConfigSet(ctx, valkeyclient.Setting{Key: action.Key, Value: action.Value}); err != nil {
		return "", err
	}
	now, err := valkeyNode.ConfigGet(ctx, action.Key)
	return now[action.Key], err
}

func (r *reconciler) listen(ctx context.Context, o plan.Observed, action plan.Listen) error {
	valkeyNode, err := r.node(ctx, o)
	if err != nil {
		return err
	}
	settings := make([]valkeyclient.Setting, 0, len(action.Settings))
	for _, directive := range action.Settings {
		settings = append(settings, valkeyclient.Setting{Key: directive.Name, Value: directive.Value()})
	}
	return valkeyNode.ConfigSet(ctx, settings...)
}

func (r *reconciler) loadACL(ctx context.Context, o plan.Observed) error {
	valkeyNode, err := r.node(ctx, o)
	if err != nil {
		return err
	}
	return valkeyNode.ACLLoad(ctx)
}

// node is the server that was looked at.
func (r *reconciler) node(ctx context.Context, o plan.Observed) (valkeyclient.Node, error) {
	look := r.children(o.Node.Namespace)
	password := ""
	if name := o.Node.Spec.SystemPasswordsSecretName; name != "" {
		if secret := pastcache.Get(ctx, look, name, &corev1.Secret{}); secret != nil {
			password = string(secret.Data[naming.UserOperator])
		}
	}
	if look.Err() != nil {
		return nil, look.Err()
	}
	return r.deps.Valkey.Node(r.target(ctx, o.Node, o.Pod(), password))
}

// refusal is the server's words where it refused what it was told, and empty where it was not told or did not say. The lack of a right is a
// refusal for now.
func refusal(err error) (words string, forNow bool) {
	switch {
	case errors.Is(err, valkeyclient.ErrInvalid):
		return err.Error(), false
	case errors.Is(err, valkeyclient.ErrPermission):
		return err.Error(), true
	}
	return "", false
}
