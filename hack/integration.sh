#!/usr/bin/env bash
# Integration tests: the API server and the controller against a real kube-apiserver and etcd, without kubelets. Arguments, where
# there are any, are those of go test instead of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
assets=$cache/envtest
mkdir -p "$assets"
# The kubectl of the minor release before, built once from its module.
older=v1.36.6
if [ ! -x "$cache/bin/kubernetes-$older/kubectl" ]; then
  echo "building kubectl $older (once, about 2 min)"
  mkdir -p "$cache/bin/kubernetes-$older"
  at=k8s.io/component-base/version
  (cd hack/kubectl && CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$cache/bin/kubernetes-$older/kubectl.tmp" \
    -ldflags "-s -w -X $at.gitVersion=$older -X $at.gitMajor=1 -X $at.gitMinor=36" .)
  mv "$cache/bin/kubernetes-$older/kubectl.tmp" "$cache/bin/kubernetes-$older/kubectl"
fi
ln -sfn "$cache/bin/kubernetes-v1.37.2/kube-apiserver" "$assets/kube-apiserver"
ln -sfn "$cache/bin/kubernetes-v1.37.2/kubectl" "$assets/kubectl"
ln -sfn "$cache/bin/kubernetes-v1.37.2/kube-controller-manager" "$assets/kube-controller-manager"
ln -sfn "$cache/bin/kubernetes-$older/kubectl" "$assets/kubectl-v1.36"
ln -sfn "$cache/bin/etcd-v3.7.0/etcd" "$assets/etcd"
[ $# -gt 0 ] || set -- ./test/integration/... ./test/bench/...
KUBEBUILDER_ASSETS=$assets hack/go-test.sh -tags integration -timeout 20m "$@"
