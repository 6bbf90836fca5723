//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

// clientCertificates asks clients for certificates. Servers, Sentinels, agents, controller and API server show theirs to each other, then as later.
func clientCertificates(t *testing.T, x *encrypted) {
	const identity = "/tmp/identity.pem"
	x.client.Put(t, identity, string(slices.Concat(x.issued.Certificate, x.issued.Key)))
	x.Planned(t, x.client, "asked", append(x.byTLS(), "-identity", identity), func() {
		x.ask(t, `{"clientCertificates":"Required"}`)
		x.askedEverywhere(t, true)
		x.await(t, v1alpha1.ReasonAsExpected)
	})
	route := slices.Concat(x.ViaSentinel(), framework.Trust(x.authority.PEM), []string{"-identity", identity})
	before := x.Primary(t)
	x.Planned(t, x.client, "known", route, func() {
		if answer := x.Failover(t, v1alpha1.FailoverRequestSpec{}); answer.From != before || !answer.Coordinated {
			t.Errorf("unexpected answer %+v", answer)
		}
	})
	x.ask(t, `{"clientCertificates":null}`)
	x.askedEverywhere(t, false)
	x.await(t, v1alpha1.ReasonAsExpected)
}

// askedEverywhere waits until every port refuses a client that shows no certificate, or none does.
func (x *encrypted) askedEverywhere(t *testing.T, asked bool) {
	t.Helper()
	framework.Eventually(t, 4*time.Minute, fmt.Sprintf("certificates are asked for: %t", asked), func() error {
		for _, addr := range x.ports(naming.PortValkey, naming.PortSentinel) {
			out, err := x.client.DoTrusting(t, addr, x.authority.PEM, "PING")
			isRefused := err != nil && strings.Contains(err.Error(), "certificate required")
			if isAnswer := err == nil || isRefused || strings.Contains(err.Error(), "NOAUTH"); !isAnswer || isRefused != asked {
				return fmt.Errorf("%s answers %q, %w", addr, out, err)
			}
		}
		return nil
	})
}
