// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestValkeyWarnings(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"a primary alone":         {`spec: {}`, nil},
		"replicas with Sentinels": {`spec: {replicas: 2, failover: {mode: Sentinel}, config: {maxmemory: 1gb}}`, nil},
		"nothing to fail over to": {`spec: {failover: {mode: Sentinel}}`,
			[]string{`spec.replicas: with failover.mode Sentinel and no replica there is nothing to fail over to`}},
		"nobody promotes": {`spec: {replicas: 1, persistence: {size: 1Gi}}`,
			[]string{`spec.failover.mode: with None no replica is promoted when the primary is lost`}},
		"nobody promotes and nothing is on disk": {`spec: {replicas: 1}`, []string{
			`spec.failover.mode: with None no replica is promoted when the primary is lost`,
			`spec.persistence: without it the data are lost when the primary's pod is replaced`}},
		"directives of the product": {`spec: {replicas: 1, failover: {mode: Sentinel, sentinel: {config: {auth-pass: x, down-after-milliseconds: "1"}}}, config: {port: "1", SLAVEOF: x, maxmemory: "1"}}`, []string{
			`spec.config[SLAVEOF]: ignored: the product decides who replicates from whom, and as whom`,
			`spec.config[port]: ignored: the product decides where the server listens`,
			`spec.failover.sentinel.config[auth-pass]: ignored: the product decides what is monitored, and as whom`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ValkeyWarnings(decoded(t, &Valkey{}, c.spec))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
			for _, text := range got {
				if len(text) > 120 {
					t.Errorf("%d characters, clients cut at 120: %s", len(text), text)
				}
			}
		})
	}
}

func TestValkeySentinelWarnings(t *testing.T) {
	cases := map[string]struct {
		spec string
		want []string
	}{
		"three": {`spec: {}`, nil},
		"four":  {`spec: {replicas: 4}`, []string{`spec.replicas: 4 Sentinels survive the loss of no more of them than 3 do`}},
		"directives of the product": {`spec: {config: {announce-ip: x, loglevel: debug}}`,
			[]string{`spec.config[announce-ip]: ignored: the product decides the Sentinels' identities and addresses`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ValkeySentinelWarnings(decoded(t, &ValkeySentinel{}, c.spec))); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestValkeyNodeWarnings(t *testing.T) {
	node := decoded(t, &ValkeyNode{}, `spec: {config: {port: "1"}}`)
	want := []string{
		`metadata.ownerReferences: no Valkey owns this node: it runs, and nobody replicates it or fails it over`,
		`spec.config[port]: ignored: the product decides where the server listens`,
	}
	if diff := cmp.Diff(want, ValkeyNodeWarnings(node)); diff != "" {
		t.Errorf("made by hand: want (-), got (+):\n%s", diff)
	}
	isController := true
	node.OwnerReferences = []metav1.OwnerReference{{Name: "v", Controller: &isController}}
	if got := ValkeyNodeWarnings(node); got != nil {
		t.Errorf("made by a Valkey: %v", got)
	}
}
