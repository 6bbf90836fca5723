#!/usr/bin/env bash
# go test with these arguments. What a failed test found may be far up, above what else was printed: it is said once more, by itself, at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
printed=$(mktemp)
trap 'rm -f "$printed"' EXIT
go test "$@" 2>&1 | tee "$printed" || {
  awk -f hack/failures.awk "$printed"
  exit 1
}
