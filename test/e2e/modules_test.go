//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// A module of the image is loaded as spec.config says. What a server cannot start with stops the roll at the first node, a replica; what a running
// server refuses stops nothing. Status has the server's own words for both, and both end when the spec is mended.
func TestModulesAndBadValues(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	ns := e.Namespace(t, "modules")
	const modules, module = "/usr/lib/valkey/modules/", "helloworld.so"
	s := e.Start(t, ns, framework.Options{
		Name: "main", Replicas: 1, Mode: v1alpha1.FailoverModeOperator, DownAfter: 10 * time.Second, Image: imageMusl,
		Extra: "  config: {loadmodule: " + modules + module + "}\n",
	})
	c := e.Client(t, ns)
	loaded := func() {
		t.Helper()
		for _, m := range s.Get(t).Status.Members {
			if got := c.Must(t, s.Address(m.Node), "HELLO.SIMPLE"); got != "0" {
				t.Errorf("%s: the module's command answers %q", m.Node, got)
			}
		}
	}
	loaded()
	before, primary := podUIDs(t, s), s.Primary(t)
	s.Planned(t, c, "modules", []string{"-addr", s.PrimaryAddress(), "-every", "5ms"}, func() {
		s.Patch(t, `{"spec":{"config":{"loadmodule":"`+modules+`none.so"}}}`)
		s.WaitCondition(t, v1alpha1.ConditionProgressing, metav1.ConditionTrue, "none.so", 3*time.Minute)
		if now := podUIDs(t, s); now[primary] != before[primary] || s.Primary(t) != primary {
			t.Errorf("the primary was %s with pod %s, is %s with %s", primary, before[primary], s.Primary(t), now[primary])
		}
		s.Patch(t, `{"spec":{"config":{"loadmodule":"`+modules+module+`","maxmemory-policy":"nonsense"}}}`)
		s.WaitCondition(t, v1alpha1.ConditionConfigurationWarning, metav1.ConditionTrue, "must be one of", time.Minute)
		s.Patch(t, `{"spec":{"config":{"maxmemory-policy":null}}}`)
		framework.Eventually(t, time.Minute, "nothing is refused any more", func() error {
			warning := meta.FindStatusCondition(s.Get(t).Status.Conditions, v1alpha1.ConditionConfigurationWarning)
			if warning != nil && strings.Contains(warning.Message, "must be one of") {
				return errors.New(warning.Message)
			}
			return nil
		})
	})
	s.WaitReady(t, 2*time.Minute)
	loaded()
}
