#!/usr/bin/env bash
# Assemble the programs of test/clients in bin/clients, each in a folder of its own with what it needs: see docs/clients.md.
# Packages for Node.js come from npm's registry, once for each lock file, and are kept in the cache. None of their install scripts runs.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}/clients
rm -rf bin/clients && mkdir -p bin/clients "$cache"
cp test/clients/*.mjs bin/clients/
for source in test/clients/*/; do
  name=$(basename "$source") target=bin/clients/$(basename "$source")
  mkdir "$target"
  if [ -f "$source/go.mod" ]; then
    (cd "$source" && CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w" -o "../../../$target/$name" .)
    continue
  fi
  cp "$source"/*.mjs "$source/package.json" "$target/"
  packages=$cache/$name-$(sha256sum "$source/package-lock.json" | cut -c1-16)
  if [ ! -d "$packages" ]; then
    command -v npm >/dev/null || { echo "npm fetches the packages of $source, and is not there: install Node.js with npm" >&2; exit 1; }
    echo "fetching the packages of $source"
    work=$(mktemp -d "$cache/.making-XXXXXX")
    trap 'rm -rf "$work"' EXIT
    cp "$source/package.json" "$source/package-lock.json" "$work/"
    npm ci --prefix "$work" --ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error
    mv -T "$work" "$packages" 2>/dev/null || [ -d "$packages" ] # somebody else may have been faster
  fi
  ln -s "$packages/node_modules" "$target/node_modules"
done
