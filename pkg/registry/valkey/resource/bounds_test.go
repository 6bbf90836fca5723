// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	api "github.com/valkeykube/valkeykube/pkg/apis/valkey"
)

func usersWith(users, commands int) *api.ValkeySpec {
	spec := &api.ValkeySpec{}
	for range users {
		spec.Users = append(spec.Users, api.UserSpec{Commands: &api.UserCommands{Allow: make([]string, commands)}})
	}
	return spec
}

func TestListsHaveBounds(t *testing.T) {
	ports := &api.ValkeySpec{Containers: []corev1.Container{{}, {Ports: make([]corev1.ContainerPort, longestList+1)}}}
	names := &api.ValkeySpec{Networking: api.NetworkingSpec{TLS: &api.TLSSpec{CertManager: &api.CertManagerSpec{ExtraDNSNames: make([]string, longestList+1)}}}}
	for name, c := range map[string]struct {
		spec, old *api.ValkeySpec
		want      string
	}{
		"empty":                {&api.ValkeySpec{}, nil, ""},
		"as long as may be":    {usersWith(longestList, 10), nil, ""},
		"one more":             {usersWith(longestList+1, 0), nil, "spec.users: Too many: 1001: must have at most 1000 items"},
		"within an entry":      {usersWith(2, longestList+1), nil, "spec.users[0].commands.allow: Too many: 1001: must have at most 1000 items"},
		"of a built-in type":   {ports, nil, "spec.containers[1].ports: Too many: 1001: must have at most 1000 items"},
		"under another name":   {names, nil, "spec.networking.tls.certManager.extraDNSNames: Too many: 1001: must have at most 1000 items"},
		"together":             {usersWith(longestList, 20), nil, "spec: Too many: 21000: must have at most 20000 items"},
		"as long as before":    {usersWith(longestList+1, 0), usersWith(longestList+1, 0), ""},
		"shorter than before":  {usersWith(longestList+1, 0), usersWith(longestList+2, 0), ""},
		"longer than before":   {usersWith(longestList+2, 0), usersWith(longestList+1, 0), "spec.users: Too many: 1002: must have at most 1000 items"},
		"together as before":   {usersWith(longestList, 20), usersWith(longestList, 20), ""},
		"nothing there before": {ports, &api.ValkeySpec{}, "spec.containers[1].ports: Too many: 1001: must have at most 1000 items"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if errs := boundErrors(field.NewPath("spec"), c.spec, c.old); len(errs) > 0 {
				got = errs[0].Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestOfVeryManyErrorsTheFirstAreTold(t *testing.T) {
	var errs field.ErrorList
	for i := range mostErrors {
		errs = append(errs, field.Required(field.NewPath("spec", "users").Index(i), ""))
	}
	if got := theFirst(errs); len(got) != mostErrors {
		t.Errorf("%d of %d", len(got), mostErrors)
	}
	got := theFirst(append(errs, errs...))
	if want := fmt.Sprintf("spec: Forbidden: there are %d more errors, which are not listed", mostErrors); len(got) != mostErrors+1 || got[mostErrors].Error() != want {
		t.Errorf("%d errors, the last is %v", len(got), got[len(got)-1])
	}
}
