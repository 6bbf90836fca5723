// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"reflect"
	"strings"
	"testing"
)

func TestNodeSettingsSurviveTheRoundTrip(t *testing.T) {
	want := Node{Namespace: "ns", Valkey: "v", Mode: "Sentinel", Primary: "v-1", Members: []Endpoint{{Name: "v-0", Host: "h", Port: 6379}}}
	text, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode[Node]([]byte(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestDecodeErrorsDoNotQuoteTheText(t *testing.T) {
	_, err := Decode[Sentinel]([]byte(`{"monitors":[{"authPass":"hunter2","quorum":"x"}]}`))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
