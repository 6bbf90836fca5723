// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

const (
	ourClass   = "local"
	otherClass = "other"
)

func class(name, provisioner string) *storagev1.StorageClass {
	reclaim := corev1.PersistentVolumeReclaimDelete
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, ReclaimPolicy: &reclaim}
}

// claim is a claim of our class for which the scheduler has picked node-1.
func claim(change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	name := ourClass
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data", UID: "u1", Annotations: map[string]string{selectedNode: "node-1"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &name,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
	if change != nil {
		change(c)
	}
	return c
}

func controller(t *testing.T, objects ...runtime.Object) (*Controller, *fake.Clientset, string) {
	t.Helper()
	client := fake.NewClientset(append(objects, class(ourClass, Name), class(otherClass, "example.com/other"))...)
	dir := t.TempDir()
	c, factory, err := New(client, map[string]string{"node-1": filepath.Join(dir, "node-1"), "node-2": filepath.Join(dir, "node-2")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	return c, client, dir
}

func TestClaimGetsAFolderOnItsNode(t *testing.T) {
	c, client, dir := controller(t, claim(nil))
	for range 2 {
		if err := c.sync(t.Context(), "ns/data"); err != nil {
			t.Fatal(err)
		}
	}
	pv, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "node-1", "pvc-u1")
	if pv.Spec.Local.Path != path || pv.Spec.ClaimRef.UID != "u1" {
		t.Errorf("path %s claim %v", pv.Spec.Local.Path, pv.Spec.ClaimRef)
	}
	if got := pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values; len(got) != 1 || got[0] != "node-1" {
		t.Errorf("node %v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("folder %v, %v: any user must be able to write", info, err)
	}
}

func TestClaimsOfOthersAreLeftAlone(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	other := otherClass
	now := metav1.Now()
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"another class":    func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &other },
		"no class":         func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = nil },
		"no node yet":      func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
		"bound":            func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv" },
		"going":            func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp, c.Finalizers = &now, []string{"x"} },
		"a block volume":   func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeMode = &block },
		"one of a kind":    func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} },
		"a missing volume": func(c *corev1.PersistentVolumeClaim) { c.Name = "elsewhere" },
	} {
		t.Run(name, func(t *testing.T) {
			c, client, dir := controller(t, claim(change))
			if err := c.sync(t.Context(), "ns/data"); err != nil {
				t.Fatal(err)
			}
			list, err := client.CoreV1().PersistentVolumes().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 0 {
				t.Errorf("volumes %v, %v", list.Items, err)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("folders %v, %v", entries, err)
			}
		})
	}
}

func TestUnknownNodeIsAnError(t *testing.T) {
	c, _, _ := controller(t, claim(func(c *corev1.PersistentVolumeClaim) { c.Annotations[selectedNode] = "node-9" }))
	if err := c.sync(t.Context(), "ns/data"); err == nil {
		t.Error("no error")
	}
}

func TestClaimGrows(t *testing.T) {
	bound := claim(func(c *corev1.PersistentVolumeClaim) {
		c.Spec.VolumeName = "pvc-u1"
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		c.Status.Phase = corev1.ClaimBound
		c.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	})
	pv := volume(claim(nil), class(ourClass, Name), "node-1", "/dir")
	c, client, _ := controller(t, bound, pv)
	if err := c.sync(t.Context(), "ns/data"); err != nil {
		t.Fatal(err)
	}
	grown, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{})
	if err != nil || grown.Spec.Capacity.Storage().String() != "3Gi" {
		t.Errorf("volume %v, %v", grown.Spec.Capacity, err)
	}
	told, err := client.CoreV1().PersistentVolumeClaims("ns").Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil || told.Status.Capacity.Storage().String() != "3Gi" {
		t.Errorf("claim %v, %v", told.Status.Capacity, err)
	}
}

func TestReleasedVolumeGoesWithItsData(t *testing.T) {
	c, client, path := released(t, nil)
	if err := c.sync(t.Context(), "pvc-u1"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the data are left: %v", err)
	}
	if _, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "pvc-u1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the volume is left: %v", err)
	}
}

func TestVolumesThatAreKept(t *testing.T) {
	for name, change := range map[string]func(*corev1.PersistentVolume){
		"bound": func(pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumeBound },
		"to be retained": func(pv *corev1.PersistentVolume) {
			pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		},
		"somebody else's":    func(pv *corev1.PersistentVolume) { pv.Annotations[provisionedBy] = "example.com/other" },
		"not a local volume": func(pv *corev1.PersistentVolume) { pv.Spec.Local = nil },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, path := released(t, change)
			if err := c.sync(t.Context(), "pvc-u1"); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the data are gone: %v", err)
			}
		})
	}
}

// Whoever may write a PersistentVolume must not be able to have any folder of the machine removed.
func TestOnlyOwnFoldersAreRemoved(t *testing.T) {
	for name, move := range map[string]func(path string) string{
		"the parent":    filepath.Dir,
		"by a way back": func(path string) string { return path + "/../../node-2" },
		"another name":  func(path string) string { return filepath.Join(filepath.Dir(path), "pvc-u2") },
		"elsewhere":     func(string) string { return "/nonexistent/pvc-u1" },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, path := released(t, func(pv *corev1.PersistentVolume) { pv.Spec.Local.Path = move(pv.Spec.Local.Path) })
			if err := c.sync(t.Context(), "pvc-u1"); err == nil {
				t.Error("no error")
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("the data are gone: %v", err)
			}
		})
	}
}

// released is a volume whose claim is gone, with data at path.
func released(t *testing.T, change func(*corev1.PersistentVolume)) (*Controller, *fake.Clientset, string) {
	t.Helper()
	c, client, dir := controller(t)
	path := filepath.Join(dir, "node-1", "pvc-u1")
	if err := os.MkdirAll(filepath.Join(path, "appendonlydir"), 0o755); err != nil {
		t.Fatal(err)
	}
	pv := volume(claim(nil), class(ourClass, Name), "node-1", filepath.Join(dir, "node-1"))
	pv.Status.Phase = corev1.VolumeReleased
	if change != nil {
		change(pv)
	}
	if _, err := client.CoreV1().PersistentVolumes().Create(t.Context(), pv, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen := func(context.Context) (bool, error) {
		_, err := c.volumes.Get(pv.Name)
		return err == nil, nil
	}
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 10*time.Second, true, seen); err != nil {
		t.Fatalf("the volume is not seen: %v", err)
	}
	return c, client, path
}
