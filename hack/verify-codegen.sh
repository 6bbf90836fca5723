#!/usr/bin/env bash
# Copyright The valkeykube Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Fails, with the difference, when what is checked in is not what the generators make. Works on a copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
paths=(pkg/apis pkg/generated hack/api-violations.list)

tar -cf - go.mod go.sum pkg/apis pkg/generated pkg/naming pkg/valkeyconf hack/update-codegen.sh hack/boilerplate.go.txt hack/api-violations.list hack/tools |
  tar -xf - -C "$copy"
# Start from nothing, so that a file nobody generates any more shows as well.
find "$copy/pkg" \( -name 'zz_generated.*' -o -name 'generated.pb.go' -o -name 'generated.proto' \) -delete
find "$copy/pkg/generated" -path "$copy/pkg/generated/openapi" -prune -o -name '*.go' -exec grep -lZ '^// Code generated' {} + | xargs -0 rm
(cd "$copy" && ./hack/update-codegen.sh)

status=0
for path in "${paths[@]}"; do
  diff -Naur "$path" "$copy/$path" || status=1
done
if ((status)); then
  echo "Generated files are out of date: run make generate and commit the result." >&2
fi
exit "$status"
