#!/usr/bin/env bash
# All checks that change nothing, cheap ones first; the first that fails ends the run.
set -euo pipefail
cd "$(dirname "$0")/.."
step() { printf '== %s\n' "$*"; }

step "format"
unformatted=$(git ls-files '*.go' | grep -v -e zz_generated -e generated.pb.go | xargs gofmt -l)
if [ -n "$unformatted" ]; then echo "not formatted: $unformatted"; exit 1; fi

step "the tree: imports, sizes, names, links"
go test ./test/architecture/...

step "docs/status.md is current"
diff <(hack/update-statusdoc.sh -) docs/status.md

step "vet"
go vet ./...
go vet -tags e2e,e2eha,e2ebench,e2eupgrade,integration ./test/...

step "generated code is current"
hack/verify-codegen.sh

step "lint"
hack/lint.sh
