#!/bin/sh
# Copyright The valkeykube Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Records what a real primary, replica and Sentinel answer, for the tests of the parsers:
#   capture.sh DIRECTORY-WITH-valkey-server-AND-valkey-cli TARGET-DIRECTORY
set -eu
bin=$1
out=$2
work=$(mktemp -d)
mkdir -p "$out"
server() { # name port lines...
    name=$1 port=$2
    shift 2
    mkdir "$work/$name"
    { printf 'port %s\nbind 127.0.0.1\ndir %s\nprotected-mode no\n' "$port" "$work/$name"; for line in "$@"; do echo "$line"; done; } >"$work/$name/conf"
}
pids=""
trap 'kill $pids; wait; rm -r "$work"' EXIT
server primary 7101 'repl-diskless-sync-delay 0'
server replica 7102 'replicaof 127.0.0.1 7101'
server sentinel 7103 'sentinel monitor main 127.0.0.1 7101 2' 'sentinel down-after-milliseconds main 5000'
server sentinel2 7104 'sentinel monitor main 127.0.0.1 7101 2'
for name in primary replica; do "$bin/valkey-server" "$work/$name/conf" >"$work/$name/log" & pids="$pids $!"; done
sleep 1
for name in sentinel sentinel2; do "$bin/valkey-server" "$work/$name/conf" --sentinel >"$work/$name/log" & pids="$pids $!"; done
sleep 13
ask() { # file port words...
    file=$1 port=$2
    shift 2
    "$bin/valkey-cli" -p "$port" -3 --json "$@" >"$out/$file.json"
}
"$bin/valkey-cli" -p 7101 -n 0 set a 1 >/dev/null
"$bin/valkey-cli" -p 7101 -n 3 mset b 1 c 2 >/dev/null
sleep 2
for name in primary:7101 replica:7102; do
    "$bin/valkey-cli" -p "${name#*:}" info | grep -vE "^(executable|config_file|os|gcc_version)" >"$out/${name%:*}.info.txt"
    ask "${name%:*}.role" "${name#*:}" role
done
ask sentinel.role 7103 role
ask masters 7103 sentinel masters
ask replicas 7103 sentinel replicas main
ask sentinels 7103 sentinel sentinels main
ask addr 7103 sentinel get-master-addr-by-name main
