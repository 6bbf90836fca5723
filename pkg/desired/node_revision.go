// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// NodeRevision identifies what of a node's spec its pod must be restarted for. It is a hash of the spec, not of the rendered template: a new
// release of the controller renders another template, names another agent image, and must not restart a single pod.
func NodeRevision(spec v1alpha1.ValkeyNodeSpec) string {
	relevant := *spec.DeepCopy()
	relevant.WorkloadRevision = ""
	relevant.Image = serverImage(relevant.Image)
	// A monitor for Prometheus is an object beside the pod.
	relevant.Exporter.ServiceMonitor = v1alpha1.ServiceMonitorSpec{}
	if !relevant.Exporter.Enabled {
		relevant.Exporter = v1alpha1.ExporterSpec{}
	}
	relevant.TLS = revisionTLS(relevant.TLS, relevant.Exporter)
	// A volume grows, and what is written to it changes, under a running server.
	if relevant.Persistence != nil {
		relevant.Persistence = &v1alpha1.PersistenceSpec{Capacity: resource.MustParse("0")}
	}
	relevant.Config = fixedConfig(spec.Config)
	text, err := json.Marshal(relevant)
	if err != nil {
		panic(fmt.Sprintf("desired: a ValkeyNode's spec has no JSON form: %v", err))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:12]
}

// fixedConfig is what of a configuration needs a restart. What can be changed under a running server is changed there. The server's version
// is not known before it runs, so what is fixed in any version counts; what is not used at all does not.
func fixedConfig(config map[string]string) map[string]string {
	fixed := map[string]string{}
	accepted, _ := valkeyconf.NodeSettings(config)
	for _, directive := range accepted {
		if valkeyconf.FixedAtRuntime("", directive.Name) {
			fixed[valkeyconf.Canonical(directive.Name)] = directive.Value()
		}
	}
	return fixed
}
