// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/controller/issuance"
	"github.com/valkeykube/valkeykube/pkg/controller/password"
	"github.com/valkeykube/valkeykube/pkg/controller/sentinel/plan"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// act carries out the actions: those on the API in order, then those on the Sentinels, each Sentinel on its own, so that one that hangs
// delays none of the others, then what is disruptive. One that fails does not stop those that do not depend on it: pods must come up also
// where the controller lacks the right to something beside them. But nothing disruptive is done after a failure.
func (r *reconciler) act(ctx context.Context, o observation, decided plan.Plan) []plan.Outcome {
	outcomes := make([]plan.Outcome, len(decided.Actions))
	bySentinel := map[int][]int{}
	failed := false
	for n, action := range decided.Actions {
		outcomes[n].Action = action
		index, toSentinel := plan.SentinelOf(action)
		switch {
		case action.Tier() == plan.TierDisruptive:
		case toSentinel:
			bySentinel[index] = append(bySentinel[index], n)
		default:
			outcomes[n].Err = r.change(ctx, o, action)
			failed = failed || outcomes[n].Err != nil && !isSecondary(action)
		}
	}
	var all sync.WaitGroup
	for index, numbers := range bySentinel {
		all.Go(func() { r.tellSentinel(ctx, o.sentinels[index], numbers, outcomes) })
	}
	all.Wait()
	for n := range outcomes {
		if outcomes[n].Action.Tier() == plan.TierDisruptive {
			r.disrupt(ctx, o, &outcomes[n], failed)
		} else if _, toSentinel := plan.SentinelOf(outcomes[n].Action); toSentinel && outcomes[n].Err != nil && outcomes[n].Refused == "" {
			failed = true
		}
	}
	return outcomes
}

// isSecondary tells whether the set works without the action.
func isSecondary(action plan.Action) bool {
	apply, ok := action.(plan.Apply)
	return ok && apply.Secondary
}

// disrupt does what takes a Sentinel, or what it knows, away, if a fresh look still wants it.
func (r *reconciler) disrupt(ctx context.Context, o observation, outcome *plan.Outcome, failed bool) {
	if failed || !plan.StillWanted(r.lookAgain(ctx, o).Observed, outcome.Action) {
		outcome.Skipped = true
		return
	}
	if reset, ok := outcome.Action.(plan.Reset); ok {
		outcome.Err = r.reset(ctx, o.sentinels[reset.Sentinel], reset)
		return
	}
	outcome.Err = r.change(ctx, o, outcome.Action)
}

// change carries out an action on the API.
func (r *reconciler) change(ctx context.Context, o observation, action plan.Action) error {
	switch action := action.(type) {
	case plan.Apply:
		return r.apply(ctx, o, action)
	case plan.Scale:
		return r.apply(ctx, o, action.Apply)
	case plan.GeneratePasswords:
		return r.generatePasswords(ctx, o, action)
	case plan.Delete:
		meta := metav1.ObjectMeta{Namespace: o.Set.Namespace, Name: action.Name}
		switch action.Kind {
		case plan.KindNetworkPolicy:
			return r.remove(ctx, &networkingv1.NetworkPolicy{ObjectMeta: meta}, action.UID)
		case plan.KindCertificate:
			certificate := issuance.Blank()
			certificate.SetNamespace(meta.Namespace)
			certificate.SetName(meta.Name)
			return r.remove(ctx, certificate, action.UID)
		}
		return r.remove(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: meta}, action.UID)
	case plan.ReplacePod:
		return r.remove(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.Set.Namespace, Name: action.Name}}, action.UID)
	default:
		return fmt.Errorf("unknown action %T", action)
	}
}

// apply makes a child as it should be. What the API has refused for good, it is not asked again at once; the answer stays the same.
func (r *reconciler) apply(ctx context.Context, o observation, action plan.Apply) error {
	if err := o.refusals.of(action, r.now()); err != nil {
		return err
	}
	err := r.client.Apply(ctx, issuance.Applicable(action.Config), client.FieldOwner(naming.FieldManager), client.ForceOwnership)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("apply %s %s: %w", action.Kind, action.Name, err)
	o.refusals.note(action, err, r.now())
	return err
}

// remove deletes the object if it still is the one that was looked at.
func (r *reconciler) remove(ctx context.Context, object client.Object, uid types.UID) error {
	if err := r.client.Delete(ctx, object, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return nil
}

// generatePasswords writes the Secret in a way that cannot replace a password that is there: it is created, which fails where there is
// one, or updated at the version that was looked at.
func (r *reconciler) generatePasswords(ctx context.Context, o observation, action plan.GeneratePasswords) error {
	secret := &corev1.Secret{}
	if action.Version != "" {
		secret = o.Objects.Passwords.DeepCopy()
	}
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	for _, user := range action.Users {
		drawn, err := password.Draw()
		if err != nil {
			return err
		}
		secret.Data[user] = []byte(drawn)
	}
	if action.Version != "" {
		if err := r.client.Update(ctx, secret, client.FieldOwner(naming.FieldManager)); err != nil {
			return fmt.Errorf("update Secret %s: %w", action.Name, err)
		}
		return nil
	}
	secret.ObjectMeta = metav1.ObjectMeta{
		Name: action.Name, Namespace: o.Set.Namespace, Labels: naming.SentinelLabels(o.Set.Name),
		OwnerReferences: []metav1.OwnerReference{ownerReference(o.Set)},
	}
	if err := r.client.Create(ctx, secret, client.FieldOwner(naming.FieldManager)); err != nil {
		return fmt.Errorf("create Secret %s: %w", action.Name, err)
	}
	return nil
}

func ownerReference(set *v1alpha1.ValkeySentinel) metav1.OwnerReference {
	reference := metav1.NewControllerRef(set, v1alpha1.SchemeGroupVersion.WithKind(desired.KindValkeySentinel))
	no := false
	reference.BlockOwnerDeletion = &no
	return *reference
}
