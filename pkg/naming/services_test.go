// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import (
	"slices"
	"testing"
)

func TestServiceHolders(t *testing.T) {
	for service, want := range map[string][]ServiceHolder{
		"valkey-a":           {{"a", 0}},
		"valkey-a-0":         {{"a-0", 0}, {"a", 1}},
		"valkey-a-12":        {{"a-12", 0}, {"a", 13}},
		"valkey-a-01":        {{"a-01", 0}},
		"valkey-a-999":       {{"a-999", 0}},
		"valkey-a-primary":   {{"a-primary", 0}, {"a", 0}},
		"valkey-a-replicas":  {{"a-replicas", 0}, {"a", 0}},
		"valkey-a-b":         {{"a-b", 0}},
		"valkey-sentinel-w":  {{"sentinel-w", 0}},
		"valkey-sentinel-0":  {{"sentinel-0", 0}, {"sentinel", 1}},
		"somebody-elses-a-0": nil,
	} {
		if got := ServiceHolders(service); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", service, got, want)
		}
	}
	for service, want := range map[string]string{"valkey-sentinel-w": "w", "valkey-sentinel-w-0": "w-0", "valkey-sentinel-": "", "valkey-w": "", "sentinel-w": ""} {
		if got, ok := ServiceSentinel(service); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q, %v, want %q", service, got, ok, want)
		}
	}
}

// Every Service that a Valkey has is found to be its.
func TestServicesAreOfTheirValkey(t *testing.T) {
	services := append(NodeServices("a-b", 0, 3), ValkeyService("a-b"), PrimaryService("a-b"), ReplicasService("a-b"))
	if len(services) != 6 {
		t.Fatalf("%v", services)
	}
	for _, service := range services {
		if !slices.ContainsFunc(ServiceHolders(service), func(holder ServiceHolder) bool { return holder.Valkey == "a-b" && holder.Nodes <= 3 }) {
			t.Errorf("%s is of %v", service, ServiceHolders(service))
		}
	}
}
