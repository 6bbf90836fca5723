//go:build e2e

// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/test/e2e/framework"
)

const (
	imageValkey = "docker.io/valkey/valkey:"
	// imageMusl is laid out as the one on Alpine Linux, with a module besides.
	imageMusl = imageValkey + "8.1-alpine"
)

// Every version of Valkey that is supported forms a set, with Sentinels of that version, and fails over.
func TestVersions(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	for _, version := range []string{"8.0", "9.1"} {
		t.Run(version, func(t *testing.T) {
			s := startImage(t, e, e.Namespace(t, "version"), imageValkey+version)
			failoverOfValkey(t, s, e.Client(t, s.Namespace))
		})
	}
}

// G6: the other images of the lab have no shell. This one is as on Alpine Linux: a shell starts the server, which runs on another C library, as
// another group, from another place. It hands over.
// E1: the image is changed under load, there and back: twice, or $CHANGES times. There is never a second node behind the write Service, and never one that takes
// writes elsewhere: the writes could not be put in one order then.
func TestImageOnMuslAndChanges(t *testing.T) {
	t.Parallel()
	e := framework.Connect(t)
	const there, back = imageMusl, imageValkey + "8.1"
	s := startImage(t, e, e.Namespace(t, "musl"), there)
	c := e.Client(t, s.Namespace)
	failoverOfValkey(t, s, c)
	for change := range framework.Number(t, "CHANGES", 2) {
		image := back
		if change%2 == 1 {
			image = there
		}
		rolled(t, s, c, fmt.Sprintf("change-%d", change), `{"spec":{"image":"`+image+`"}}`, nil)
	}
	events, err := s.Env.Kube.CoreV1().Events(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(events.Items) == 0 {
		t.Fatalf("%d events, %v", len(events.Items), err)
	}
	for i := range events.Items {
		if event := &events.Items[i]; strings.HasSuffix(event.Reason, "Hook") || event.Reason == "BackOff" {
			t.Errorf("%s: %s: %s", event.InvolvedObject.Name, event.Reason, event.Message)
		}
	}
}

// startImage starts servers and Sentinels of one image. It has patience: images are tried beside much else.
func startImage(t *testing.T, e *framework.Env, ns, image string) *framework.Set {
	t.Helper()
	s := e.Start(t, ns, framework.Options{
		Name: "main", Replicas: 2, Mode: v1alpha1.FailoverModeSentinel, DownAfter: 5 * time.Second, Image: image, SentinelImage: image,
	})
	s.WaitAgreed(t)
	return s
}
