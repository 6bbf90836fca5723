# Sourced by the scripts that speak to a cluster: that of $KUBECONFIG or, where it is not set, the local cluster $CLUSTER.
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
if [ -z "${KUBECONFIG:-}" ]; then
  KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "${CLUSTER:-demo}")
  export KUBECONFIG
fi
