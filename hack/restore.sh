#!/usr/bin/env bash
# Put a snapshot back into the store of the installation with the embedded etcd: hack/restore.sh FILE. What the store holds is kept aside on
# its volume. The API is away meanwhile; the Valkeys are not.
set -euo pipefail
. "$(dirname "$0")/kubeconfig.sh"
namespace=${NAMESPACE:-valkey-system}
file=${1:?usage: hack/restore.sh FILE}
[ -s "$file" ] || { echo "$file is no file, or an empty one" >&2; exit 1; }
kube() { kubectl -n "$namespace" "$@"; }
if kube get statefulset valkey-etcd >/dev/null 2>&1; then
  echo "this store is an etcd of several members: restore it as README.md says" >&2
  exit 1
fi
image=$(kube get deployment valkey-apiserver -o jsonpath='{.spec.template.spec.containers[0].image}')
back() {
  kube scale deployment valkey-apiserver --replicas=1
  kube rollout status deployment/valkey-apiserver --timeout=60s && return
  echo "the API server is not ready:" >&2
  kube logs deployment/valkey-apiserver -c apiserver --tail=1000 | grep "The API is closed" | tail -1 >&2
  return 1
}
trap back EXIT
kube scale deployment valkey-apiserver --replicas=0
kube wait --for=delete pod -l app.kubernetes.io/name=valkey-apiserver --timeout=90s
kube run valkey-apiserver-restore --rm -i --quiet --restart=Never --image="$image" --image-pull-policy=IfNotPresent --override-type=strategic \
  --pod-running-timeout=2m --overrides='{"spec": {
    "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "valkey-apiserver-data"}}],
    "containers": [{"name": "valkey-apiserver-restore",
      "command": ["/valkey-apiserver"],
      "args": ["etcd", "restore", "--data-dir=/var/lib/valkey-apiserver", "--from=-", "--replace"],
      "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
      "volumeMounts": [{"name": "data", "mountPath": "/var/lib/valkey-apiserver"}]}]}}' <"$file"
