// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// GetSentinels is the ValkeySentinel now.
func (s *Set) GetSentinels(t *testing.T) *v1alpha1.ValkeySentinel {
	t.Helper()
	set, err := s.Env.Valkey.ValkeyV1alpha1().ValkeySentinels(s.Namespace).Get(context.WithoutCancel(t.Context()), s.Sentinel, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// WaitSentinelCondition is WaitCondition for the ValkeySentinel.
func (s *Set) WaitSentinelCondition(t *testing.T, kind string, status metav1.ConditionStatus, words string, patience time.Duration) {
	t.Helper()
	waitCondition(t, s.Sentinel, func() []metav1.Condition { return s.GetSentinels(t).Status.Conditions }, kind, status, words, patience)
}

// Remembered is an error unless each Sentinel lists exactly so many replicas, by host name, and holds none for down.
func (s *Set) Remembered(t *testing.T, c *Client, replicas int) error {
	t.Helper()
	for _, sentinel := range s.SentinelAddresses() {
		out, err := c.Do(t, sentinel, "SENTINEL", "REPLICAS", s.Name)
		if err != nil {
			return err
		}
		lines, listed := strings.Split(out, "\n"), 0
		for i := 0; i+1 < len(lines); i += 2 {
			switch key, value := lines[i], lines[i+1]; {
			case key == "ip":
				listed++
				if !strings.HasSuffix(value, ".svc."+s.Env.Domain) {
					return fmt.Errorf("%s lists %s", sentinel, value)
				}
			case key == "flags" && strings.Contains(value, "down"):
				return fmt.Errorf("%s holds a replica for %s", sentinel, value)
			}
		}
		if listed != replicas {
			return fmt.Errorf("%s lists %d replicas: %s", sentinel, listed, out)
		}
	}
	return nil
}
