// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	baseversion "k8s.io/component-base/version"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/apiserver"
	"github.com/valkeykube/valkeykube/pkg/discovery"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/registry/valkey/live"
)

// StoragePrefix is where our objects are in etcd.
const StoragePrefix = "/registry/valkey.io"

// Options are the flags.
type Options struct {
	Run         *genericoptions.ServerRunOptions
	Recommended *genericoptions.RecommendedOptions
	Logs        *logs.Options

	// DataDir is where the embedded etcd keeps its data, when no --etcd-servers are named.
	DataDir string
	// EtcdQuotaBytes is how large they may grow.
	EtcdQuotaBytes int64
	// Namespace is where the product is installed.
	Namespace string
	// ClusterDomain is the cluster's DNS domain.
	ClusterDomain string
	// Standalone serves without a Kubernetes API server: no delegated authentication or authorization, no admission, no flow
	// control, no store identity. Only tests set it; there is no flag.
	Standalone bool
	// Secrets and Addresses replace the core API and the cluster's DNS for live subresources. Only tests set them.
	Secrets   discovery.Secrets
	Addresses discovery.Addresses
	// Controller replaces the controller's lease. Only tests set it.
	Controller live.Controller

	registry compatibility.ComponentGlobalsRegistry
}

// podNamespace is where Kubernetes tells a pod its namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// installedIn is the namespace that the file names, else the usual one.
func installedIn(file string) string {
	text, err := os.ReadFile(file)
	if namespace := strings.TrimSpace(string(text)); err == nil && namespace != "" {
		return namespace
	}
	return naming.SystemNamespace
}

func init() {
	// The server's feature gate is also that of its logs.
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
}

// NewOptions are the defaults.
func NewOptions() *Options {
	// Not the version of this binary but that of the Kubernetes library in it decides about the library's features.
	registry := compatibility.NewComponentGlobalsRegistry()
	utilruntime.Must(registry.Register(compatibility.DefaultKubeComponent,
		compatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "", ""), utilfeature.DefaultMutableFeatureGate))

	options := &Options{
		Run:           genericoptions.NewServerRunOptionsForComponent(compatibility.DefaultKubeComponent, registry),
		Recommended:   genericoptions.NewRecommendedOptions(StoragePrefix, apiserver.Codecs.LegacyCodec(v1alpha1.SchemeGroupVersion)),
		Logs:          logs.NewOptions(),
		DataDir:       "/var/lib/valkey-apiserver",
		Namespace:     installedIn(podNamespace),
		ClusterDomain: "cluster.local",
		registry:      registry,
	}
	enforceQuota(options.Recommended)
	options.Recommended.SecureServing.BindPort = 8443
	options.Recommended.SecureServing.ServerCert.CertDirectory = ""
	options.Recommended.Etcd.DefaultStorageMediaType = "application/vnd.kubernetes.protobuf"
	options.Recommended.Etcd.StorageConfig.HealthcheckTimeout = 2 * time.Second
	options.Recommended.Etcd.StorageConfig.ReadycheckTimeout = 2 * time.Second
	return options
}

// Flags are the options by section, as --help prints them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	own := sections.FlagSet("valkey")
	own.StringVar(&o.DataDir, "data-dir", o.DataDir, "Directory in which the embedded etcd keeps its data. Not used with --etcd-servers.")
	own.Int64Var(&o.EtcdQuotaBytes, "embedded-etcd-quota-bytes", o.EtcdQuotaBytes, "Size of the embedded etcd's data, in bytes, from which on writes are refused. 0 is 2 GiB.")
	own.StringVar(&o.Namespace, "namespace", o.Namespace, "Namespace in which the product is installed. Default: that of the pod this runs in, elsewhere "+naming.SystemNamespace+".")
	own.StringVar(&o.ClusterDomain, "cluster-domain", o.ClusterDomain, "DNS domain of the cluster.")

	o.Run.AddUniversalFlags(sections.FlagSet("generic"))
	o.Recommended.Etcd.AddFlags(sections.FlagSet("etcd"))
	o.Recommended.SecureServing.AddFlags(sections.FlagSet("secure serving"))
	o.Recommended.Authentication.AddFlags(sections.FlagSet("authentication"))
	o.Recommended.Authorization.AddFlags(sections.FlagSet("authorization"))
	o.Recommended.Audit.AddFlags(sections.FlagSet("audit"))
	o.Recommended.Features.AddFlags(sections.FlagSet("features"))
	o.Recommended.CoreAPI.AddFlags(sections.FlagSet("core API"))
	o.Recommended.Admission.AddFlags(sections.FlagSet("admission"))
	o.Recommended.Traces.AddFlags(sections.FlagSet("traces"))
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Complete fills in what depends on other options.
func (o *Options) Complete() error {
	if o.Standalone {
		o.withoutCoreAPI()
	}
	// A core API that is away is waited for; the library's own answer would be to go on without knowing who is asking.
	o.Recommended.Authentication.TolerateInClusterLookupFailure = false
	// One metric and health check per etcd; egress selection is for the control plane's own network.
	o.Recommended.EgressSelector = nil
	return o.Run.Complete()
}

func (o *Options) withoutCoreAPI() {
	o.Recommended.CoreAPI, o.Recommended.Admission = nil, nil
	o.Recommended.Features.EnablePriorityAndFairness = false
	o.Recommended.Authentication.RemoteKubeConfigFileOptional = true
	o.Recommended.Authentication.SkipInClusterLookup = true
	o.Recommended.Authorization.RemoteKubeConfigFileOptional = true
}

// EmbedsEtcd is whether an etcd is to be started in this process.
func (o *Options) EmbedsEtcd() bool {
	return len(o.Recommended.Etcd.StorageConfig.Transport.ServerList) == 0
}

// Validate reports everything that is wrong, at once.
func (o *Options) Validate() error {
	var errs []error
	if o.EmbedsEtcd() {
		if o.DataDir == "" {
			errs = append(errs, errors.New("--data-dir must be set, or --etcd-servers"))
		}
		if o.EtcdQuotaBytes < 0 {
			errs = append(errs, fmt.Errorf("--embedded-etcd-quota-bytes must not be negative, it is %d", o.EtcdQuotaBytes))
		}
	}
	if o.ClusterDomain == "" {
		errs = append(errs, errors.New("--cluster-domain must be set"))
	}
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace must be set"))
	}
	if err := logsapi.Validate(o.Logs, utilfeature.DefaultFeatureGate, nil).ToAggregate(); err != nil {
		errs = append(errs, err.Errors()...)
	}
	errs = append(errs, o.Run.Validate()...)
	errs = append(errs, o.registry.Validate()...)
	// Whether etcd servers are named is ours to judge.
	etcd := *o.Recommended.Etcd
	if o.EmbedsEtcd() {
		etcd.StorageConfig.Transport.ServerList = []string{"embedded"}
	}
	errs = append(errs, etcd.Validate()...)
	errs = append(errs, o.Recommended.SecureServing.Validate()...)
	errs = append(errs, o.Recommended.Authentication.Validate()...)
	errs = append(errs, o.Recommended.Authorization.Validate()...)
	errs = append(errs, o.Recommended.Audit.Validate()...)
	errs = append(errs, o.Recommended.Features.Validate()...)
	errs = append(errs, o.Recommended.CoreAPI.Validate()...)
	errs = append(errs, o.Recommended.Admission.Validate()...)
	errs = append(errs, o.Recommended.Traces.Validate()...)
	return utilerrors.NewAggregate(slices.DeleteFunc(errs, func(err error) bool { return err == nil }))
}
