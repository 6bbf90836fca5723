// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

// Command models-schema prints the definitions of zz_generated.openapi.go as one OpenAPI v2 document, from which the apply
// configurations are generated.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/valkeykube/valkeykube/pkg/generated/openapi"
)

func main() {
	if err := json.NewEncoder(os.Stdout).Encode(document()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func document() *spec.Swagger {
	definitions := spec.Definitions{}
	reference := func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) }
	for name, definition := range openapi.GetOpenAPIDefinitions(reference) {
		definitions[name] = v2Schema(definition)
	}
	return &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Info:        &spec.Info{InfoProps: spec.InfoProps{Title: "valkey.io", Version: "unversioned"}},
		Definitions: definitions,
	}}
}

// Some v3 definitions carry a v2 form of themselves.
func v2Schema(definition common.OpenAPIDefinition) spec.Schema {
	if schema, ok := definition.Schema.Extensions[common.ExtensionV2Schema].(spec.Schema); ok {
		return schema
	}
	return definition.Schema
}
