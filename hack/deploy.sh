#!/usr/bin/env bash
# Install the product into the cluster of $KUBECONFIG, or, where that is not set, of the local cluster $CLUSTER; "remove" takes it out.
# INSTALL=ha installs three API servers on an etcd of three members instead of one with an etcd of its own. NAMESPACE is where to, when not
# to valkey-system. CLUSTER_DOMAIN is the cluster's DNS domain, which is asked of the kubelets when it is not set.
set -euo pipefail
cd "$(dirname "$0")/.."
. hack/kubeconfig.sh

case ${INSTALL:-embedded} in
  embedded) manifests=artifacts/deploy other=valkey-etcd ;;
  ha) manifests=artifacts/deploy/ha other= ;;
  *) echo "INSTALL is embedded or ha, not $INSTALL" >&2; exit 1 ;;
esac

namespace=${NAMESPACE:-valkey-system}
[[ $namespace =~ ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$ ]] || { echo "NAMESPACE is no name of a namespace: $namespace" >&2; exit 1; }
domain=$(cluster_domain)
[[ $domain =~ ^[a-z0-9][-.a-z0-9]*$ ]] || { echo "CLUSTER_DOMAIN is no domain: $domain" >&2; exit 1; }

# built prints the manifests, whose programs take the domain for cluster.local unless they are told.
built() {
  if [ "$domain" = cluster.local ]; then kubectl kustomize "$manifests"; return; fi
  local overlay=$overlays/domain
  mkdir -p "$overlay"
  cat >"$overlay/kustomization.yaml" <<EOF
resources: [$(realpath --relative-to="$overlay" "$manifests")]
patches:
- target: {kind: Deployment, name: valkey-(apiserver|controller)}
  patch: |-
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --cluster-domain=$domain}
EOF
  kubectl kustomize "$overlay"
}
overlays=$(mktemp -d)
trap 'rm -rf "$overlays"' EXIT
# The namespace is in subjects and addresses too, which kustomize would not change.
render() { built | sed "s/\\bvalkey-system\\b/$namespace/g"; }

# What objects of ours own goes with them: without their store it would have no owner when the product is installed again.
refuse_while_in_use() {
  local children
  children=$(kubectl get statefulsets -A -l app.kubernetes.io/managed-by=valkey-controller --no-headers -o custom-columns=:.metadata.namespace,:.metadata.name)
  [ -z "$children" ] && return
  echo "there are Valkeys or ValkeySentinels; their pods would go on running without the product, and nothing could take them over again:" >&2
  echo "$children" | head -5 | sed 's/^/  /' >&2
  echo "delete them first, or take a backup (make backup) and say GIVE_UP=yes" >&2
  exit 1
}

if [ "${1:-}" = remove ]; then
  [ "${GIVE_UP:-}" = yes ] || refuse_while_in_use
  # A namespace that is not the product's own may hold what is somebody else's.
  if [ "$namespace" = valkey-system ]; then
    render | kubectl delete -f - --ignore-not-found
  else
    render | awk 'BEGIN { RS = "---\n"; ORS = "---\n" } !/(^|\n)kind: Namespace\n/' | kubectl delete -f - --ignore-not-found
    kubectl -n "$namespace" delete configmap valkey-apiserver-store --ignore-not-found
    echo "the namespace $namespace stays"
  fi
  exit
fi

# The two keep their objects in different stores.
if { [ -n "$other" ] && kubectl -n "$namespace" get statefulset "$other"; } >/dev/null 2>&1; then
  echo "this cluster has the highly available installation: INSTALL=ha" >&2
  exit 1
fi
if [ -z "$other" ] && kubectl -n "$namespace" get pvc valkey-apiserver-data >/dev/null 2>&1; then
  echo "this cluster has the plain installation, whose objects are on the volume valkey-apiserver-data: take it out first" >&2
  exit 1
fi
render | kubectl apply -f - | sed 's/^/  /'
# Where images were rebuilt under the same name, pods that run an older one are replaced.
for name in valkey-apiserver valkey-controller; do
  digest=$(sha256sum "bin/$name" 2>/dev/null | cut -c1-16 || true)
  if [ -n "$digest" ]; then
    kubectl -n "$namespace" patch deployment "$name" --type=strategic \
      -p "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"valkey.io/build\":\"$digest\"}}}}}" | sed 's/^/  /'
  fi
done
echo "waiting for the API server and the controller"
for name in valkey-apiserver valkey-controller; do
  kubectl -n "$namespace" rollout status "deployment/$name" --timeout=300s | sed 's/^/  /'
done
kubectl wait --for=condition=Available apiservice/v1alpha1.valkey.io --timeout=120s | sed 's/^/  /'
