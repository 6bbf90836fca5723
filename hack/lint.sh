#!/usr/bin/env bash
# Run golangci-lint, built once from its module into the cache.
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.15.0
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
bin=$cache/bin/golangci-lint-$version
if [ ! -x "$bin/golangci-lint" ]; then
  echo "building golangci-lint $version (once, some minutes)"
  mkdir -p "$bin" && GOBIN=$bin.tmp CGO_ENABLED=0 go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
  mv "$bin.tmp/golangci-lint" "$bin/golangci-lint" && rmdir "$bin.tmp"
fi
"$bin/golangci-lint" run ./...
# The tools around the product may close a file without asking how it went.
root=$PWD
for module in hack/cluster test/client test/clients/valkey-go; do
  (cd "$module" && "$bin/golangci-lint" run --config "$root/.golangci.yml" --disable errcheck ./...)
done
