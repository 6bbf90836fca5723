#!/usr/bin/env bash
# End-to-end tests on a real cluster of their own, which is removed afterwards unless KEEP=1. RUN=regexp chooses tests,
# SERVERS=9.1 the version of Valkey for those that name none.
# INSTALL=ha runs those of the highly available installation, on it; BENCH=1 the measurements, RUNS times each; FROM=revision the upgrade from it.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "${CLUSTER:-demo}" = demo ] && CLUSTER=e2e
export CLUSTER
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
unset KUBECONFIG
# kubectl remembers for hours what an address served: another cluster may have had this one before.
KUBECACHEDIR=$(mktemp -d)
export KUBECACHEDIR
finish() {
  rm -rf "$KUBECACHEDIR"
  [ -z "${old:-}" ] || git worktree remove --force "$old"
  [ "${KEEP:-}" = 1 ] || "$cache/bin/cluster" down --name "$CLUSTER"
}
trap finish EXIT
# install_old puts what FROM was into the cluster, with the test client of today.
install_old() {
  old=$(mktemp -d)
  git worktree add --quiet --force --detach "$old" "$FROM"
  make --no-print-directory cluster-up build
  make --no-print-directory -C "$old" build
  cp bin/testclient "$old/bin/"
  "$cache/bin/cluster" load --name "$CLUSTER" --product-bin "$old/bin"
  "$old/hack/deploy.sh"
}
if [ "${FROM:-}" ]; then install_old; else make --no-print-directory up CLUSTER="$CLUSTER"; fi
[ "${INSTALL:-}${BENCH:-}${FROM:-}" ] || make --no-print-directory test-images CLUSTER="$CLUSTER"
KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "$CLUSTER")
export KUBECONFIG CLUSTER_BIN=$cache/bin/cluster
tag=e2e packages=./test/e2e
[ "${INSTALL:-}" != ha ] || tag=e2eha packages=./test/e2e/ha
[ "${BENCH:-}" != 1 ] || tag=e2ebench packages=./test/e2e/bench
[ -z "${FROM:-}" ] || tag=e2eupgrade packages=./test/e2e/upgrade
# Tests that cut machines off or take the product away run one after the other, and first; those that say t.Parallel() after them, together.
hack/go-test.sh -tags "$tag" -timeout "${TIMEOUT:-75m}" -parallel "${PARALLEL:-3}" -v -count=1 -run "${RUN:-.}" "$packages"
