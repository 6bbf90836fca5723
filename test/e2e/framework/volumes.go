// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Claims are the UIDs of the claims in the Valkey's namespace, by name.
func (s *Set) Claims(t *testing.T) map[string]types.UID {
	t.Helper()
	list, err := s.Env.Kube.CoreV1().PersistentVolumeClaims(s.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for i := range list.Items {
		uids[list.Items[i].Name] = list.Items[i].UID
	}
	return uids
}

// SmallVolume puts a file system of a few megabytes in the place of a claim's volume, on the machine on which the local cluster's volumes are, and
// takes it away after the test. What starts after this uses it. The function that it returns makes it large.
func (e *Env) SmallVolume(t *testing.T, namespace, claim string, megabytes int) (grow func()) {
	t.Helper()
	path := e.pathOf(t, namespace, claim)
	mount := func(options string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "valkeykube-e2e", path).CombinedOutput(); err != nil {
			t.Fatalf("mount: %v: %s", err, out)
		}
	}
	mount(fmt.Sprintf("size=%dm,mode=0777", megabytes))
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "umount", "--lazy", path).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return func() { mount("remount,size=1g") }
}

// LoseVolume takes away what is behind a claim, as if it could not be attached any more, until the function that it returns is called, or the test ends.
func (e *Env) LoseVolume(t *testing.T, namespace, claim string) (giveBack func()) {
	t.Helper()
	path := e.pathOf(t, namespace, claim)
	away := path + ".away"
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	giveBack = sync.OnceFunc(func() {
		if err := os.Rename(away, path); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(giveBack)
	return giveBack
}

// pathOf is where the local cluster keeps the volume of a claim, on this machine.
func (e *Env) pathOf(t *testing.T, namespace, claim string) string {
	t.Helper()
	pvc, err := e.Kube.CoreV1().PersistentVolumeClaims(namespace).Get(t.Context(), claim, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	volume, err := e.Kube.CoreV1().PersistentVolumes().Get(t.Context(), pvc.Spec.VolumeName, metav1.GetOptions{})
	if err != nil || volume.Spec.Local == nil {
		t.Fatalf("no local volume: %v", err)
	}
	return volume.Spec.Local.Path
}
