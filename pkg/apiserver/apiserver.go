// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"k8s.io/apimachinery/pkg/util/sets"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey"
	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/openapi"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
)

// Name of the server in logs and metrics.
const Name = "valkey-apiserver"

// Config is what a server is made from.
type Config struct {
	Generic *genericapiserver.RecommendedConfig
	// Live is what live subresources ask, without the stores.
	Live live.Dependencies
}

// NewConfig is a configuration to apply options to.
func NewConfig() *Config {
	generic := genericapiserver.NewRecommendedConfig(Codecs)
	namer := openapinamer.NewDefinitionNamer(Scheme)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIConfig.Info.Title, generic.OpenAPIConfig.Info.Version = Name, v1alpha1.SchemeGroupVersion.Version
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions, namer)
	generic.OpenAPIV3Config.Info = generic.OpenAPIConfig.Info
	// These are cut by no request timeout. The aggregator in front knows the same names, and no others.
	generic.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch", "proxy"), sets.NewString("proxy"))
	return &Config{Generic: generic}
}

// Server serves the group valkey.io.
type Server struct {
	Generic *genericapiserver.GenericAPIServer
}

// New makes a server that serves nothing yet: run it with Generic.PrepareRun. It fails when a store cannot be made.
func (c *Config) New() (*Server, error) {
	completed := c.Generic.Complete()
	generic, err := completed.New(Name, genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	routes, err := newRoutes(c.Generic.RESTOptionsGetter, c.Live)
	if err != nil {
		return nil, err
	}
	group := genericapiserver.NewDefaultAPIGroupInfo(valkey.GroupName, Scheme, ParameterCodec, Codecs)
	group.VersionedResourcesStorageMap[v1alpha1.SchemeGroupVersion.Version] = routes
	if err := generic.InstallAPIGroup(&group); err != nil {
		return nil, err
	}
	// Without it the server would be ready before its watch caches are, and answer early lists slowly or not at all.
	if err := generic.AddPostStartHook("storage-readiness", generic.StorageReadinessHook.Hook); err != nil {
		return nil, err
	}
	return &Server{Generic: generic}, nil
}
