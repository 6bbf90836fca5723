#!/usr/bin/env bash
# End-to-end tests on a real cluster of their own, which is removed afterwards unless KEEP=1. RUN=regexp chooses tests.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CLUSTER:-demo}" = demo ] && CLUSTER=e2e
export CLUSTER
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
unset KUBECONFIG
# kubectl remembers for hours what an address served: another cluster may have had this one before.
KUBECACHEDIR=$(mktemp -d)
export KUBECACHEDIR
finish() { rm -rf "$KUBECACHEDIR"; [ "${KEEP:-}" = 1 ] || "$cache/bin/cluster" down --name "$CLUSTER"; }
trap finish EXIT
make --no-print-directory up CLUSTER="$CLUSTER"
KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "$CLUSTER")
export KUBECONFIG CLUSTER_BIN=$cache/bin/cluster
go test -tags e2e -timeout 60m -v -count=1 -run "${RUN:-.}" ./test/e2e/...
