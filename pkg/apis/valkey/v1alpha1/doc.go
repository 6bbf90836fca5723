// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:conversion-gen=github.com/valkeykube/valkeykube/pkg/apis/valkey
// +k8s:defaulter-gen=TypeMeta
// +k8s:validation-gen=TypesWithField=TypeMeta
// +k8s:protobuf-gen=package
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.github.valkeykube.valkeykube.pkg.apis.valkey.v1alpha1
// +k8s:prerelease-lifecycle-gen=false
// +groupName=valkey.io

// Package v1alpha1 owns the first served version of the API group valkey.io with its defaults and the rules that need no
// more than the object; it must not know a client or a server.
package v1alpha1
