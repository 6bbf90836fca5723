# Sourced by the scripts that speak to a cluster: that of $KUBECONFIG or, where it is not set, the local cluster $CLUSTER.
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
if [ -z "${KUBECONFIG:-}" ]; then
  KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "${CLUSTER:-demo}")
  export KUBECONFIG
fi

# The DNS domain of that cluster: $CLUSTER_DOMAIN or, where that is not set, what the kubelets tell their pods.
cluster_domain() {
  if [ -n "${CLUSTER_DOMAIN:-}" ]; then echo "$CLUSTER_DOMAIN"; return; fi
  local node told
  for node in $(kubectl get nodes -o name); do
    told=$(kubectl get --raw "/api/v1/nodes/${node#node/}/proxy/configz" 2>/dev/null | sed -n 's/.*"clusterDomain":"\([^"]*\)".*/\1/p')
    [ -z "$told" ] || { echo "$told"; return; }
  done
  echo "no kubelet says what the cluster's DNS domain is; taking it for cluster.local (CLUSTER_DOMAIN is another)" >&2
  echo cluster.local
}
