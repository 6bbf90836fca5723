// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"
)

func TestDomainsAreChecked(t *testing.T) {
	for _, domain := range []string{"K8s", "a..b", ".a", "a.", "a_b", "-a", "a b", "a\nb", strings.Repeat("a.", 60) + "a"} {
		if _, err := New("x", 0, Shape{Domain: domain}); err == nil {
			t.Errorf("domain %q is taken", domain)
		}
	}
	if _, err := New("x", 0, Shape{Family: "ipv5"}); err == nil {
		t.Error("family ipv5 is taken")
	}
	for asked, want := range map[string]string{"": "cluster.local", "k8s.corp.internal": "k8s.corp.internal", "k8s": "k8s"} {
		if c, err := New("x", 0, Shape{Domain: asked}); err != nil || c.Domain != want {
			t.Errorf("domain %q becomes %q, %v", asked, c.Domain, err)
		}
	}
}

func TestAShapeCannotBeChanged(t *testing.T) {
	for _, c := range []struct {
		is, asked Shape
		fits      bool
	}{
		{Shape{}, Shape{}, true},
		{Shape{}, Shape{Domain: "cluster.local"}, true},
		{Shape{}, Shape{Domain: "other"}, false},
		{Shape{Domain: "other"}, Shape{}, true},
		{Shape{Domain: "other"}, Shape{Domain: "cluster.local"}, false},
		{Shape{}, Shape{Family: IPv4}, true},
		{Shape{}, Shape{Family: Dual}, false},
		{Shape{Family: IPv6}, Shape{}, true},
	} {
		if err := c.is.Fits(c.asked); (err == nil) != c.fits {
			t.Errorf("%+v for who asks for %+v: %v", c.is, c.asked, err)
		}
	}
}
