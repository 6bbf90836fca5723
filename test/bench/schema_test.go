// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build integration

package bench

import (
	"encoding/json"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/generated/openapi"
)

// rivalGroup is where the CustomResourceDefinition is.
const rivalGroup = "bench.valkey.io"

// definition is a CustomResourceDefinition with the schema, the defaults, the subresource and, as far as JSON paths go, the columns of a Valkey.
func definition() (*apiextensionsv1.CustomResourceDefinition, error) {
	schema, err := schemaOf(v1alpha1.Valkey{}.OpenAPIModelName())
	if err != nil {
		return nil, err
	}
	schema.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: "object"}
	column := func(name, kind, path string, priority int32) apiextensionsv1.CustomResourceColumnDefinition {
		return apiextensionsv1.CustomResourceColumnDefinition{Name: name, Type: kind, JSONPath: path, Priority: priority}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "valkeys." + rivalGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: rivalGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "valkeys", Singular: "valkey", Kind: "Valkey", ListKind: "ValkeyList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: v1alpha1.SchemeGroupVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: schema},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					column("State", "string", ".status.state", 0), column("Reason", "string", ".status.reason", 0),
					column("Primary", "string", ".status.primary", 0), column("Ready", "integer", ".status.readyReplicas", 0),
					column("Synced", "integer", ".status.syncedReplicas", 0), column("Monitored-By", "string", ".status.monitoring.sentinel", 0),
					column("Age", "date", ".metadata.creationTimestamp", 0), column("Address", "string", ".status.primaryAddress", 1),
					column("Image", "string", ".spec.image", 1), column("Quorum", "integer", ".status.monitoring.quorum", 1),
					column("Last-Failover", "date", ".status.lastFailover.startedAt", 1),
				},
			}},
		},
	}, nil
}

// schemaOf is the structural schema of a type of ours: its OpenAPI definition without references.
func schemaOf(name string) (*apiextensionsv1.JSONSchemaProps, error) {
	const prefix = "#/definitions/"
	definitions := openapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef(prefix + name) })
	var resolved map[string]any
	text, err := json.Marshal(inline(definitions, prefix, name))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &resolved); err != nil {
		return nil, err
	}
	text, err = json.Marshal(structural(resolved))
	if err != nil {
		return nil, err
	}
	schema := &apiextensionsv1.JSONSchemaProps{}
	return schema, json.Unmarshal(text, schema)
}

// inline puts the definitions in the place of the references to them.
func inline(definitions map[string]common.OpenAPIDefinition, prefix, name string) any {
	var resolve func(value any) any
	definition := func(name string) any {
		text, _ := json.Marshal(definitions[name].Schema)
		var value any
		_ = json.Unmarshal(text, &value)
		return resolve(value)
	}
	resolve = func(value any) any {
		switch node := value.(type) {
		case map[string]any:
			if reference, is := node["$ref"].(string); is {
				target, _ := definition(strings.TrimPrefix(reference, prefix)).(map[string]any)
				for key, own := range node {
					if key != "$ref" {
						target[key] = own
					}
				}
				return target
			}
			if all, is := node["allOf"].([]any); is && len(all) == 1 {
				target, _ := resolve(all[0]).(map[string]any)
				for key, own := range node {
					if key != "allOf" {
						target[key] = own
					}
				}
				return target
			}
			for key := range node {
				node[key] = resolve(node[key])
			}
		case []any:
			for i := range node {
				node[i] = resolve(node[i])
			}
		}
		return value
	}
	return definition(name)
}

// structural takes out what a CustomResourceDefinition does not accept and its server would not use.
func structural(node map[string]any) map[string]any {
	if empty, is := node["default"].(map[string]any); is && len(empty) == 0 {
		delete(node, "default")
	}
	// The generator's empty default of what is required; what is enumerated must not be empty.
	if node["default"] == "" {
		delete(node, "default")
	}
	if _, either := node["oneOf"]; either || node["format"] == "int-or-string" {
		return map[string]any{"x-kubernetes-int-or-string": true}
	}
	if properties, is := node["properties"].(map[string]any); is {
		for name, property := range properties {
			properties[name] = structural(property.(map[string]any))
		}
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if schema, is := node[inner].(map[string]any); is {
			node[inner] = structural(schema)
		}
	}
	requireKeys(node)
	return node
}

// requireKeys makes the keys of a map list required where they have no default.
func requireKeys(node map[string]any) {
	keys, _ := node["x-kubernetes-list-map-keys"].([]any)
	for _, key := range keys {
		items := node["items"].(map[string]any)
		required, _ := items["required"].([]any)
		property := items["properties"].(map[string]any)[key.(string)].(map[string]any)
		if _, defaulted := property["default"]; !defaulted && !slices.Contains(required, key) {
			items["required"] = append(required, key)
		}
	}
}
