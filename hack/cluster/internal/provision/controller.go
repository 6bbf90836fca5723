// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Controller makes, grows and removes volumes.
type Controller struct {
	client kubernetes.Interface
	// dirs maps a node to its folder of volumes.
	dirs    map[string]string
	queue   workqueue.TypedRateLimitingInterface[string]
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	synced  []cache.InformerSynced
}

// New returns a controller for nodes with the given folders of volumes.
func New(client kubernetes.Interface, dirs map[string]string) (*Controller, informers.SharedInformerFactory, error) {
	factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
	claims := factory.Core().V1().PersistentVolumeClaims()
	volumes := factory.Core().V1().PersistentVolumes()
	classes := factory.Storage().V1().StorageClasses()
	c := &Controller{
		client: client,
		dirs:   dirs,
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 10*time.Second)),
		claims:  claims.Lister(),
		volumes: volumes.Lister(),
		classes: classes.Lister(),
		synced:  []cache.InformerSynced{claims.Informer().HasSynced, volumes.Informer().HasSynced, classes.Informer().HasSynced},
	}
	// A claim's key has a namespace and a slash; a volume's has not.
	for _, informer := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer()} {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    c.enqueue,
			UpdateFunc: func(_, object any) { c.enqueue(object) },
		}); err != nil {
			return nil, nil, err
		}
	}
	return c, factory, nil
}

func (c *Controller) enqueue(object any) {
	if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
		c.queue.Add(key)
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context, factory informers.SharedInformerFactory) error {
	defer c.queue.ShutDown()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return ctx.Err()
	}
	log.Print("ready")
	go func() {
		<-ctx.Done()
		c.queue.ShutDown()
	}()
	for {
		key, end := c.queue.Get()
		if end {
			return nil
		}
		if err := c.sync(ctx, key); err != nil {
			log.Printf("%s: %v", key, err)
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

func (c *Controller) sync(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return err
	}
	if namespace == "" {
		pv, err := c.volumes.Get(name)
		if err != nil || !abandoned(pv) {
			return ignoreNotFound(err)
		}
		return c.remove(ctx, pv)
	}
	claim, err := c.claims.PersistentVolumeClaims(namespace).Get(name)
	switch {
	case err != nil:
		return ignoreNotFound(err)
	case waits(claim):
		return c.provision(ctx, claim)
	case grows(claim):
		return c.grow(ctx, claim)
	}
	return nil
}

func (c *Controller) provision(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	class, err := c.classes.Get(*claim.Spec.StorageClassName)
	if err != nil || class.Provisioner != Name {
		return ignoreNotFound(err)
	}
	if why := refusal(claim); why != "" {
		log.Printf("%s/%s: refused: %s", claim.Namespace, claim.Name, why)
		return nil
	}
	node := claim.Annotations[selectedNode]
	dir, known := c.dirs[node]
	if !known {
		return fmt.Errorf("node %s is not one of this cluster", node)
	}
	pv := volume(claim, class, node, dir)
	path := pv.Spec.Local.Path
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	// Pods of any user write to it, with fsGroup or without.
	if err := os.Chmod(path, 0o777); err != nil {
		return err
	}
	_, err = c.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("create volume %s: %w", pv.Name, err)
	}
	log.Printf("%s/%s: made %s on %s", claim.Namespace, claim.Name, pv.Name, node)
	return nil
}

// grow raises the capacity of the volume and then that of the claim. The folder has no limit, so nothing else changes.
func (c *Controller) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	pv, err := c.volumes.Get(claim.Spec.VolumeName)
	if err != nil || pv.Annotations[provisionedBy] != Name {
		return ignoreNotFound(err)
	}
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if has := pv.Spec.Capacity[corev1.ResourceStorage]; has.Cmp(size) < 0 {
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{"capacity": map[string]any{"storage": size.String()}}})
		if err != nil {
			return err
		}
		if _, err := c.client.CoreV1().PersistentVolumes().Patch(ctx, pv.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return fmt.Errorf("grow volume %s: %w", pv.Name, err)
		}
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": map[string]any{"storage": size.String()}, "conditions": nil,
		"allocatedResources": nil, "allocatedResourceStatuses": nil,
	}})
	if err != nil {
		return err
	}
	_, err = c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).
		Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("report the new size: %w", err)
	}
	log.Printf("%s/%s: grown to %s", claim.Namespace, claim.Name, size.String())
	return nil
}

// remove deletes a volume's data and then the volume.
func (c *Controller) remove(ctx context.Context, pv *corev1.PersistentVolume) error {
	path := filepath.Clean(pv.Spec.Local.Path)
	if !c.owns(path, pv.Name) {
		return fmt.Errorf("folder %s is not one that was made for it", path)
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	err := c.client.CoreV1().PersistentVolumes().Delete(ctx, pv.Name, metav1.DeleteOptions{})
	if err == nil {
		log.Printf("%s: removed", pv.Name)
	}
	return ignoreNotFound(err)
}

// owns tells whether a path is a volume's place below one of the nodes' folders: what is written in an object must never
// make the provisioner remove anything else.
func (c *Controller) owns(path, name string) bool {
	for _, dir := range c.dirs {
		if path == filepath.Join(dir, name) && strings.HasPrefix(name, "pvc-") {
			return true
		}
	}
	return false
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
