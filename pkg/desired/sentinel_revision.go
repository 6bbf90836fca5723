// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// SentinelRevision identifies what of a ValkeySentinel's spec a Sentinel must be restarted for. users is the ACL file, which a Sentinel
// reads when it starts, without the product's own users. It is a hash of the spec and not of the rendered template, so that a new release
// of the controller or the agent restarts nothing; and it leaves out how many Sentinels there are, what they watch, and how Kubernetes
// looks after them.
func SentinelRevision(spec v1alpha1.ValkeySentinelSpec, users string) string {
	relevant := struct {
		Spec  v1alpha1.ValkeySentinelSpec
		Users string
	}{*spec.DeepCopy(), users}
	relevant.Spec.Replicas = 0
	relevant.Spec.ValkeySelector = nil
	relevant.Spec.Users = nil
	relevant.Spec.Persistence = nil
	relevant.Spec.PodDisruptionBudget = v1alpha1.PodDisruptionBudgetSpec{}
	relevant.Spec.Networking.NetworkPolicy = nil
	relevant.Spec.Image = serverImage(relevant.Spec.Image)
	relevant.Spec.Exporter.ServiceMonitor = v1alpha1.ServiceMonitorSpec{}
	if !relevant.Spec.Exporter.Enabled {
		relevant.Spec.Exporter = v1alpha1.ExporterSpec{}
	}
	if !relevant.Spec.Networking.TLS.IsOn() {
		relevant.Spec.Networking.TLS = nil
	}
	text, err := json.Marshal(relevant)
	if err != nil {
		panic(fmt.Sprintf("desired: a ValkeySentinel's spec has no JSON form: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}
