// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// Mounts are the hashes of what the agent of a pod starts from, as it is in the ConfigMap or in the pod.
type Mounts struct {
	// Settings are the boot settings, Config is the server's configuration.
	Settings, Config string
}

// MountMemory is what is known of the files in a pod.
type MountMemory struct {
	// Arrived is what was found in the pod.
	Pod     types.UID
	Arrived Mounts
	// AskedAt is when the kubelet was last asked to look for changed files.
	AskedAt time.Time
}

const (
	// refreshEvery is how often the kubelet is asked to look while changed files are awaited.
	refreshEvery = 4 * time.Second
	// AnnotationMounts on a pod changes whenever its kubelet is asked to look for changed files.
	AnnotationMounts = "valkey.io/mounts"
)

// AwaitsMounts tells whether the pod may still have other files than the ConfigMap: only then its agent is asked.
func (o Observed) AwaitsMounts() bool {
	pod := o.Pod()
	return IsReady(pod) && o.Objects.Mounts != Mounts{} && (o.Memory.Mounts.Pod != pod.UID || o.Memory.Mounts.Arrived != o.Objects.Mounts)
}

// stepMounts hurries the kubelet, which otherwise takes a minute or two to bring changed files into a pod: a server that is restarted in its pod
// starts from them, also while the controller is away. Only then a change counts as applied. It disrupts nothing.
//
// An agent that does not say what is in its pod, because it is of an earlier release, is not waited for.
func stepMounts(d *draft) {
	awaitsFiles := d.AwaitsMounts() && d.Mounted != Mounts{}
	if awaitsFiles && d.Mounted == d.Objects.Mounts {
		d.plan.Memory.Mounts = MountMemory{Pod: d.Pod().UID, Arrived: d.Mounted}
		awaitsFiles = false
	}
	if awaitsFiles && d.Mounted.Config != d.Objects.Mounts.Config {
		d.plan.awaitsConfig = true
	}
	awaitsACL := d.plan.acl.known && !d.plan.acl.settled
	pod := d.Pod()
	if pod == nil || !awaitsFiles && !awaitsACL {
		return
	}
	d.soon = true
	if d.Now.Sub(d.plan.Memory.Mounts.AskedAt) < refreshEvery {
		return
	}
	d.plan.Memory.Mounts.AskedAt = d.Now
	// The time makes it another value each time: the kubelet may have looked before it had heard of the change.
	mark := valkeyconf.Hash(d.Objects.Mounts.Settings, d.Objects.Mounts.Config, d.Objects.ACL)[:8] + "-" + strconv.FormatInt(d.Now.Unix(), 10)
	d.do(RefreshMounts{Pod: pod.Name, UID: pod.UID, Mark: mark})
}

// onItsWay is where the configuration stands while the server has it, and the pod does not.
func onItsWay() standing {
	return standing{known: true, reason: v1alpha1.ReasonApplying,
		message: "the server has it; the file from which it would start again is on its way into the pod"}
}
