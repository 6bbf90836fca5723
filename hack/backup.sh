#!/usr/bin/env bash
# Write a snapshot of the product's store to a file: hack/backup.sh FILE. The API server goes on serving.
set -euo pipefail
. "$(dirname "$0")/kubeconfig.sh"
namespace=${NAMESPACE:-valkey-system}
file=${1:?usage: hack/backup.sh FILE}
[ ! -e "$file" ] || { echo "$file exists already" >&2; exit 1; }
trap 'rm -f "$file.part"' EXIT
flags=()
if kubectl -n "$namespace" get statefulset valkey-etcd >/dev/null 2>&1; then
  pki=/run/valkey-apiserver/etcd-client
  flags=(--etcd-servers=https://valkey-etcd-0.valkey-etcd.$namespace.svc:2379 "--etcd-cafile=$pki/ca.crt" "--etcd-certfile=$pki/tls.crt" "--etcd-keyfile=$pki/tls.key")
fi
kubectl -n "$namespace" exec deployment/valkey-apiserver -c apiserver -- /valkey-apiserver etcd snapshot --output - "${flags[@]}" >"$file.part"
mv "$file.part" "$file"
echo "$(stat -c %s "$file") bytes in $file"
