#!/usr/bin/env bash
# Install the product into the cluster of $KUBECONFIG, or, where that is not set, of the local cluster $CLUSTER; "remove" takes it out.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
if [ -z "${KUBECONFIG:-}" ]; then
  KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "${CLUSTER:-demo}")
  export KUBECONFIG
fi

if [ "${1:-}" = remove ]; then
  kubectl delete -k artifacts/deploy --ignore-not-found
  exit
fi

kubectl apply -k artifacts/deploy | sed 's/^/  /'
# Where images were rebuilt under the same name, pods that run an older one are replaced.
for name in valkey-apiserver valkey-controller; do
  digest=$(sha256sum "bin/$name" 2>/dev/null | cut -c1-16 || true)
  if [ -n "$digest" ]; then
    kubectl -n valkey-system patch deployment "$name" --type=strategic \
      -p "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"valkey.io/build\":\"$digest\"}}}}}" | sed 's/^/  /'
  fi
done
echo "waiting for the API server and the controller"
for name in valkey-apiserver valkey-controller; do
  kubectl -n valkey-system rollout status "deployment/$name" --timeout=180s | sed 's/^/  /'
done
kubectl wait --for=condition=Available apiservice/v1alpha1.valkey.io --timeout=120s | sed 's/^/  /'
