#!/usr/bin/env bash
# Copyright The valkeykube Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Generates everything that is generated. The generators are called directly: kube_codegen.sh fails on metav1.Condition.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

module=github.com/valkeykube/valkeykube
boilerplate=hack/boilerplate.go.txt
versions=(./pkg/apis/valkey/v1alpha1)
generated=pkg/generated
lint=(--lint-rules=known-tags-only,require-explicit-disablement)
cache="${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}"
tools="$cache/bin/generators"

step() { printf '==> %s\n' "$*" >&2; }

if ! command -v protoc >/dev/null; then
  step "installing protobuf-compiler"
  apt-get update -qq && apt-get install -y -qq protobuf-compiler ||
    { echo "protoc is missing: install the package protobuf-compiler" >&2; exit 1; }
fi

step "building the generators"
mkdir -p "$tools"
go build -C hack/tools -o "$tools/" tool
export PATH="$tools:$PATH"

step "deepcopy"
deepcopy-gen --go-header-file "$boilerplate" "${lint[@]}" --output-file zz_generated.deepcopy.go ./pkg/apis/...

step "defaults"
defaulter-gen --go-header-file "$boilerplate" "${lint[@]}" --output-file zz_generated.defaults.go ./pkg/apis/...

step "validation"
validation-gen --go-header-file "$boilerplate" "${lint[@]}" --output-file zz_generated.validations.go \
  --readonly-pkg k8s.io/apimachinery/pkg/api/resource --readonly-pkg k8s.io/apimachinery/pkg/runtime \
  --readonly-pkg k8s.io/apimachinery/pkg/types --readonly-pkg k8s.io/apimachinery/pkg/util/intstr --readonly-pkg time \
  ./pkg/apis/...

step "conversion"
conversion-gen --go-header-file "$boilerplate" "${lint[@]}" --output-file zz_generated.conversion.go ./pkg/apis/...

# Before openapi: protobuf adds struct tags to the types.
step "protobuf"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src/k8s.io" "$work/src/github.com/gogo" "$work/src/$(dirname "$module")"
ln -s "$PWD" "$work/src/$module"
for dependency in k8s.io/api k8s.io/apimachinery; do
  ln -s "$(go list -m -f '{{.Dir}}' "$dependency")" "$work/src/$dependency"
done
gogo="$(go -C hack/tools list -m -f '{{.Dir}}' github.com/gogo/protobuf)"
ln -s "$gogo" "$work/src/github.com/gogo/protobuf"
imports=(k8s.io/apimachinery/pkg/util/intstr k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/runtime/schema
  k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/apis/meta/v1)
# A leading "-" imports a package and never writes to it.
go-to-protobuf --go-header-file "$boilerplate" --output-dir "$work/src" \
  --proto-import "$work/src" --proto-import "$work/src/github.com/gogo/protobuf/protobuf" --proto-import /usr/include \
  --apimachinery-packages "$(printf -- '-%s,' "${imports[@]}" | sed 's/,$//')" \
  --packages "$module/pkg/apis/valkey/v1alpha1,-k8s.io/api/core/v1"

step "openapi"
mkdir -p "$generated/openapi"
foreign=(k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/runtime k8s.io/apimachinery/pkg/version
  k8s.io/apimachinery/pkg/api/resource k8s.io/apimachinery/pkg/util/intstr k8s.io/api/core/v1 k8s.io/api/autoscaling/v1)
readonly_packages=(--readonly-pkg k8s.io/apimachinery/pkg/types --readonly-pkg time)
for package in "${foreign[@]}"; do readonly_packages+=(--readonly-pkg "$package"); done
openapi-gen --go-header-file "$boilerplate" --output-dir "$generated/openapi" --output-pkg "$module/$generated/openapi" \
  --output-file zz_generated.openapi.go --output-model-name-file zz_generated.model_name.go \
  --report-filename hack/api-violations.list "${readonly_packages[@]}" "${foreign[@]}" "${versions[@]}"

step "apply configurations"
go run "./$generated/openapi/cmd/models-schema" >"$work/schema.json"
applyconfiguration-gen --go-header-file "$boilerplate" "${lint[@]}" --openapi-schema "$work/schema.json" \
  --output-dir "$generated/applyconfiguration" --output-pkg "$module/$generated/applyconfiguration" "${versions[@]}"

step "clientset"
client-gen --go-header-file "$boilerplate" "${lint[@]}" --output-dir "$generated/clientset" \
  --output-pkg "$module/$generated/clientset" --clientset-name versioned --prefers-protobuf \
  --apply-configuration-package "$module/$generated/applyconfiguration" --input-base "$PWD/pkg/apis" --input valkey/v1alpha1
# The fake clientset calls functions of its own in place of the library's: see tracker.go there.
sed -i -e 's/testing\.NewObjectTracker(/newObjectTracker(/' -e 's/testing\.NewFieldManagedObjectTracker(/newFieldManagedObjectTracker(/' \
  -e 's/testing\.ObjectReaction(/objectReaction(/' "$generated/clientset/versioned/fake/clientset_generated.go"

step "listers"
lister-gen --go-header-file "$boilerplate" "${lint[@]}" --output-dir "$generated/listers" \
  --output-pkg "$module/$generated/listers" "${versions[@]}"

step "informers"
informer-gen --go-header-file "$boilerplate" "${lint[@]}" --output-dir "$generated/informers" \
  --output-pkg "$module/$generated/informers" --versioned-clientset-package "$module/$generated/clientset/versioned" \
  --listers-package "$module/$generated/listers" "${versions[@]}"

step "done"
