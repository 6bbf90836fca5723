// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
)

// enforceQuota makes ResourceQuotas hold for our kinds (count/valkeys.valkey.io). The core API only passes our requests on: its own
// admission sees none of them, and without this a quota would be counted and never kept.
func enforceQuota(recommended *genericoptions.RecommendedOptions) {
	resourcequota.Register(recommended.Admission.Plugins)
	recommended.Admission.RecommendedPluginOrder = append(recommended.Admission.RecommendedPluginOrder, resourcequota.PluginName)
	recommended.ExtraAdmissionInitializers = func(*genericapiserver.RecommendedConfig) ([]admission.PluginInitializer, error) {
		return []admission.PluginInitializer{quotas{}}, nil
	}
}

// quotas tells admission what is counted: the objects of every kind that is stored.
type quotas struct{}

// Initialize hands the configuration over.
func (quotas) Initialize(plugin admission.Interface) {
	if wants, ok := plugin.(interface{ SetQuotaConfiguration(quota.Configuration) }); ok {
		// What is created and stored nowhere would be counted, and nobody would ever take it off again.
		wants.SetQuotaConfiguration(generic.NewConfiguration(nil, map[schema.GroupResource]struct{}{
			v1alpha1.Resource("failoverrequests"): {},
		}))
	}
}
