// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Name is how StorageClasses name this provisioner.
	Name = "valkeykube.io/local"

	provisionedBy = "pv.kubernetes.io/provisioned-by"
	selectedNode  = "volume.kubernetes.io/selected-node"
)

// volumeName is the name of a claim's volume, the same at every try.
func volumeName(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// volume is the PersistentVolume for a claim on a node; dir is the node's folder of volumes.
func volume(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, node, dir string) *corev1.PersistentVolume {
	reclaim := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		reclaim = *class.ReclaimPolicy
	}
	mode := corev1.PersistentVolumeFilesystem
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        volumeName(claim),
			Annotations: map[string]string{provisionedBy: Name},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Spec.Resources.Requests[corev1.ResourceStorage]},
			AccessModes:                   claim.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: reclaim,
			StorageClassName:              class.Name,
			VolumeMode:                    &mode,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: filepath.Join(dir, volumeName(claim))},
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{
						Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
					}},
				}},
			}},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
		},
	}
}

// refusal says why a claim cannot be served, or "".
func refusal(claim *corev1.PersistentVolumeClaim) string {
	if claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock {
		return "block volumes are not provided"
	}
	if claim.Spec.Selector != nil {
		return "a claim with a selector takes an existing volume"
	}
	return ""
}

// waits tells whether a claim waits for a volume to be made on a node that the scheduler has picked.
func waits(claim *corev1.PersistentVolumeClaim) bool {
	return claim.DeletionTimestamp == nil && claim.Spec.VolumeName == "" && claim.Spec.StorageClassName != nil &&
		claim.Annotations[selectedNode] != ""
}

// grows tells whether a bound claim asks for more than it has.
func grows(claim *corev1.PersistentVolumeClaim) bool {
	want, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	return claim.DeletionTimestamp == nil && claim.Status.Phase == corev1.ClaimBound && want.Cmp(has) > 0
}

// abandoned tells whether a volume is to be removed with its data.
func abandoned(pv *corev1.PersistentVolume) bool {
	return pv.Annotations[provisionedBy] == Name && pv.Spec.Local != nil && pv.Status.Phase == corev1.VolumeReleased &&
		pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
}
