#!/usr/bin/env bash
# Write docs/status.md from the constants that declare conditions, reasons and events; with "-" to standard output.
set -euo pipefail
cd "$(dirname "$0")/.."
api=pkg/apis/valkey/v1alpha1
text=$(go run ./hack/statusdoc "$api"/conditions*.go "$api"/events*.go)
if [ "${1:-}" = - ]; then printf '%s\n' "$text"; else printf '%s\n' "$text" > docs/status.md; fi
