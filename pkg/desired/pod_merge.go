// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

// overlay lays the JSON form of a typed fragment over an apply configuration of the same kind: fields that the fragment sets replace, others
// stay. The round trip through JSON is what turns core types into apply configurations everywhere in this package. Neither side can fail to
// encode: both are plain data of the same schema, so a failure is a programming error.
func overlay(applied, typed any) {
	text, err := json.Marshal(typed)
	if err == nil {
		err = json.Unmarshal(text, applied)
	}
	if err != nil {
		panic(fmt.Sprintf("desired: %T does not have the JSON form of %T: %v", typed, applied, err))
	}
}

// converted is the apply configuration of each typed fragment.
func converted[A, T any](typed []T) []*A {
	applied := make([]*A, 0, len(typed))
	for i := range typed {
		one := new(A)
		overlay(one, typed[i])
		applied = append(applied, one)
	}
	return applied
}

// mergedContainers lays the user's containers over ours by name, as a strategic merge patch; names that are not ours are added behind them.
func mergedContainers(ours []*corev1ac.ContainerApplyConfiguration, users []corev1.Container) ([]*corev1ac.ContainerApplyConfiguration, error) {
	if len(users) == 0 {
		return ours, nil
	}
	base := corev1ac.PodSpec().WithContainers(ours...)
	patch := struct {
		Containers []corev1.Container `json:"containers"`
	}{explicitDefaults(users)}
	merged := corev1ac.PodSpec()
	if err := strategicMerge(base, patch, corev1.PodSpec{}, merged); err != nil {
		return nil, fmt.Errorf("merge spec.containers: %w", err)
	}
	return oursFirst(ours, merged.Containers), nil
}

// oursFirst orders merged containers: a merge puts the user's anywhere, and the first container is the one that tools look at.
func oursFirst(ours []*corev1ac.ContainerApplyConfiguration, merged []corev1ac.ContainerApplyConfiguration) []*corev1ac.ContainerApplyConfiguration {
	rank := map[string]int{}
	for i, container := range ours {
		rank[*container.Name] = i - len(ours)
	}
	containers := make([]*corev1ac.ContainerApplyConfiguration, 0, len(merged))
	for i := range merged {
		containers = append(containers, &merged[i])
	}
	slices.SortStableFunc(containers, func(a, b *corev1ac.ContainerApplyConfiguration) int {
		return cmp.Compare(rank[*a.Name], rank[*b.Name])
	})
	return containers
}

// mergedSecurityContext lays the user's pod security context over the default one.
func mergedSecurityContext(users *corev1.PodSecurityContext) (*corev1ac.PodSecurityContextApplyConfiguration, error) {
	if users == nil {
		return restrictedPod(), nil
	}
	merged := corev1ac.PodSecurityContext()
	if err := strategicMerge(restrictedPod(), users, corev1.PodSecurityContext{}, merged); err != nil {
		return nil, fmt.Errorf("merge spec.podSecurityContext: %w", err)
	}
	return merged, nil
}

// strategicMerge writes base with patch laid over it into result; schema is the typed value whose tags say how lists merge.
func strategicMerge(base, patch, schema, result any) error {
	baseText, err := json.Marshal(base)
	if err != nil {
		return err
	}
	patchText, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	text, err := strategicpatch.StrategicMergePatch(baseText, patchText, schema)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, result)
}

// explicitDefaults fills in what the API server would, inside references that are owned as a whole: a default there comes back as ours,
// and a comparison with what we asked for would never settle.
func explicitDefaults(users []corev1.Container) []corev1.Container {
	containers := make([]corev1.Container, 0, len(users))
	for i := range users {
		container := users[i].DeepCopy()
		for j := range container.Env {
			source := container.Env[j].ValueFrom
			if source == nil {
				continue
			}
			if source.FieldRef != nil && source.FieldRef.APIVersion == "" {
				source.FieldRef.APIVersion = "v1"
			}
		}
		for j := range container.Ports {
			if container.Ports[j].Protocol == "" {
				container.Ports[j].Protocol = corev1.ProtocolTCP
			}
		}
		containers = append(containers, *container)
	}
	return containers
}
