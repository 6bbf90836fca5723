#!/usr/bin/env bash
# The main job, before the reader's eyes, on the cluster that "make up" made. It ends with the cluster as it was, plus the namespace "demo".
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${VALKEYKUBE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/valkeykube}
cluster=${CLUSTER:-demo}
export PATH=$cache/bin/kubernetes-v1.37.2:$PATH
KUBECONFIG=$("$cache/bin/cluster" kubeconfig --name "$cluster")
# kubectl remembers for hours what an address served: another cluster may have had this one before.
KUBECACHEDIR=$(mktemp -d)
export KUBECONFIG KUBECACHEDIR
. hack/kubeconfig.sh
domain=$(cluster_domain)
ns=demo
cut=""

bold=""; plain=""
if [ -t 1 ]; then bold=$'\e[1m'; plain=$'\e[0m'; fi
say() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
run() { printf '%s$ %s%s\n' "$bold" "$*" "$plain"; "$@"; }
client() { kubectl exec -n $ns client -- /testclient "$@"; }
primary() { kubectl get valkey cache -n $ns -o 'jsonpath={.status.primary}'; }

# wait_for WHAT SECONDS COMMAND…: until the command succeeds, saying each five seconds that it is still waiting.
wait_for() {
  local what=$1 limit=$2 begin=$SECONDS said=0; shift 2
  until "$@" >/dev/null 2>&1; do
    if (( SECONDS - begin > limit )); then echo "  not within ${limit}s: $what"; return 1; fi
    if (( SECONDS - begin >= said + 5 )); then said=$((SECONDS - begin)); echo "  waiting for $what … ${said}s"; fi
    sleep 0.2
  done
  echo "  $what: after $((SECONDS - begin))s"
}
restore() {
  rm -rf "$KUBECACHEDIR"
  [ -z "$cut" ] || "$cache/bin/cluster" heal --name "$cluster" "$cut" || true
  kubectl -n valkey-system scale deployment valkey-apiserver valkey-controller --replicas=1 >/dev/null 2>&1 || true
}
trap restore EXIT
is_ready() { [ "$(kubectl get valkey cache -n $ns -o 'jsonpath={.status.state}')" = Ready ]; }
registered() { [ "$(kubectl get valkey cache -n $ns -o 'jsonpath={.status.monitoring.availableQuorum}')" = 3 ]; }
sentinels="valkey-sentinel-watch-0.valkey-sentinel-watch.$ns.svc.$domain:26379,valkey-sentinel-watch-1.valkey-sentinel-watch.$ns.svc.$domain:26379,valkey-sentinel-watch-2.valkey-sentinel-watch.$ns.svc.$domain:26379"
# While a machine with a pod of the cluster's DNS is cut off, every second question to it is lost: then the Sentinels are asked by IP.
sentinel_ips() {
  kubectl get pods -n $ns -l valkey.io/sentinel=watch -o 'jsonpath={range .items[*]}{.spec.nodeName} {.status.podIP}:26379{"\n"}{end}' |
    awk -v away="$1" '$1 != away { printf "%s%s", sep, $2; sep = "," }'
}
sentinels_say() { client find -sentinels "$sentinels" -name cache; }
moved() { local now; now=$(sentinels_say) && [ "$now" != "$1" ]; }
status_agrees() { [ "$(kubectl get valkey cache -n $ns -o 'jsonpath={.status.primaryAddress}')" = "$(sentinels_say)" ]; }
can_write() { client cli -timeout 5s -sentinels "$sentinels" -name cache -- SET "$1" "$2"; }

say "A Valkey with two replicas, and three Sentinels that watch it"
kubectl create namespace $ns --dry-run=client -o yaml | kubectl apply -f - >/dev/null
kubectl label namespace $ns pod-security.kubernetes.io/enforce=restricted --overwrite >/dev/null
begin=$SECONDS
run kubectl apply -n $ns -f artifacts/examples/
kubectl apply -n $ns -f hack/demo-client.yaml >/dev/null
wait_for "the Valkey is Ready" 180 is_ready
wait_for "three Sentinels watch it" 60 registered
echo "  apply to Ready: $((SECONDS - begin))s"
run kubectl get valkeys,valkeysentinels,valkeynodes -n $ns
kubectl wait -n $ns --for=condition=Ready pod/client --timeout=60s >/dev/null

say "A write through the write Service, and a read from a replica"
service=valkey-cache-primary.$ns.svc.$domain:6379
run kubectl exec -n $ns client -- /testclient cli -addr "$service" -- SET greeting "hello from the primary"
replica=$(kubectl get valkey cache -n $ns -o 'jsonpath={.status.members[?(@.role=="replica")].node}' | cut -d' ' -f1)
run kubectl exec -n $ns client -- /testclient cli -addr "valkey-$replica-0.valkey-$replica.$ns.svc.$domain:6379" -- GET greeting

say "A failover that a person asks for, of a primary under load"
kubectl exec -i -n $ns client -- /testclient ledger -sentinels "$sentinels" -name cache -for 8s > /tmp/demo-ledger.$$ 2>/dev/null < <(sleep 12) &
writer=$!
sleep 1
echo '{}' | run kubectl create --raw "/apis/valkey.io/v1alpha1/namespaces/$ns/valkeys/cache/failover" -f -
echo
wait $writer && echo "  the writer's ledger: $(cat /tmp/demo-ledger.$$)"; rm -f /tmp/demo-ledger.$$

say "What each Sentinel says, live"
run kubectl get valkeysentinels watch -n $ns --subresource=monitors

say "Nothing of ours runs: the controller and the API server are scaled to zero"
wait_for "the Valkey is Ready" 60 is_ready
node=$(kubectl get pod -n $ns "valkey-$(primary)-0" -o 'jsonpath={.spec.nodeName}')
if [ "$(kubectl get pod -n $ns client -o 'jsonpath={.spec.nodeName}')" = "$node" ]; then
  kubectl delete pod -n $ns client --grace-period=0 --force >/dev/null 2>&1
  sed "s/^spec:/spec:\n  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io\/hostname, operator: NotIn, values: [$node]}]}]}}}/" hack/demo-client.yaml | kubectl apply -n $ns -f - >/dev/null
  kubectl wait -n $ns --for=condition=Ready pod/client --timeout=60s >/dev/null
fi
before=$(sentinels_say)
run kubectl -n valkey-system scale deployment valkey-apiserver valkey-controller --replicas=0
wait_for "their pods are gone" 60 bash -c '[ -z "$(kubectl get pods -n valkey-system -o name)" ]'
echo "  the Sentinels say $before; its node $node is cut off the network"
cut=$node
names=$sentinels
sentinels=$(sentinel_ips "$node")
run make --no-print-directory cut NODE="$node" CLUSTER="$cluster"
wait_for "the Sentinels chose another primary" 60 moved "$before"
wait_for "a Sentinel client writes" 30 can_write after-cut 1
echo "  the Sentinels say $(sentinels_say)"

say "Everything comes back"
run make --no-print-directory heal NODE="$node" CLUSTER="$cluster"
cut=""
sentinels=$names
run kubectl -n valkey-system scale deployment valkey-apiserver valkey-controller --replicas=1
kubectl -n valkey-system rollout status deployment/valkey-apiserver --timeout=120s | tail -1
wait_for "the API is served" 60 kubectl get valkeys -n $ns
wait_for "status names the Sentinels' primary" 120 status_agrees
wait_for "the Valkey is Ready" 180 is_ready
run kubectl get valkeys,valkeysentinels,valkeynodes -n $ns
run kubectl exec -n $ns client -- /testclient cli -sentinels "$sentinels" -name cache -- GET after-cut

say "Yours to try"
cat <<END
  export KUBECONFIG=$KUBECONFIG
  export PATH=$cache/bin/kubernetes-v1.37.2:\$PATH
  kubectl get valkeys,valkeysentinels,valkeynodes -n $ns
  make down CLUSTER=$CLUSTER   removes the cluster and everything it made
END
