#!/usr/bin/env bash
# Integration tests: the API server and the controller against a real kube-apiserver and etcd, without kubelets. Arguments, where
# there are any, are those of go test instead of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
assets=$cache/envtest
mkdir -p "$assets"
ln -sfn "$cache/bin/kubernetes-v1.37.2/kube-apiserver" "$assets/kube-apiserver"
ln -sfn "$cache/bin/kubernetes-v1.37.2/kubectl" "$assets/kubectl"
ln -sfn "$cache/bin/etcd-v3.7.0/etcd" "$assets/etcd"
[ $# -gt 0 ] || set -- ./test/integration/... ./test/bench/...
KUBEBUILDER_ASSETS=$assets go test -tags integration -timeout 20m "$@"
