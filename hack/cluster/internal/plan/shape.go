// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"regexp"
)

// DefaultDomain is the DNS domain of a cluster that is not told another.
const DefaultDomain = "cluster.local"

// Shape is what clusters may be asked to differ in. It cannot be changed afterwards.
type Shape struct {
	// Domain is the cluster's DNS domain; empty is DefaultDomain.
	Domain string `json:"domain,omitempty"`
	// Family of its addresses; empty is IPv4.
	Family Family `json:"family,omitempty"`
}

var validDomain = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// Completed has the defaults filled in.
func (s Shape) Completed() Shape {
	s.Domain = cmp.Or(s.Domain, DefaultDomain)
	s.Family = cmp.Or(s.Family, IPv4)
	return s
}

// Validate tells what cannot be.
func (s Shape) Validate() error {
	s = s.Completed()
	// Names below it have to fit into the 253 bytes of a name.
	if len(s.Domain) > 100 || !validDomain.MatchString(s.Domain) {
		return fmt.Errorf("domain %q: use up to 100 of a-z, 0-9, - and ., such as k8s.example", s.Domain)
	}
	if s.Family != IPv4 && s.Family != IPv6 && s.Family != Dual {
		return fmt.Errorf("family %q: it is ipv4, ipv6 or dual", s.Family)
	}
	return nil
}

// Fits tells whether a cluster of this shape is one of those asked for; what is left open fits.
func (s Shape) Fits(asked Shape) error {
	s = s.Completed()
	if asked.Domain != "" && asked.Domain != s.Domain {
		return fmt.Errorf("the cluster's domain is %s, not %s: take it down first", s.Domain, asked.Domain)
	}
	if asked.Family != "" && asked.Family != s.Family {
		return fmt.Errorf("the cluster's family is %s, not %s: take it down first", s.Family, asked.Family)
	}
	return nil
}
