// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/valkeykube/valkeykube/pkg/naming"
)

func decoded[T runtime.Object](t *testing.T, into T, spec string) T {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(spec), into); err != nil {
		t.Fatalf("%v in:\n%s", err, spec)
	}
	scheme(t).Default(into)
	return into
}

func messages(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return texts
}

func TestValkeyRulesOnCreate(t *testing.T) {
	control := "must not hold control characters such as a newline"
	cases := map[string]struct {
		spec string
		want []string
	}{
		"nothing": {`spec: {}`, nil},
		"everything that is allowed": {`
spec:
  replicas: 2
  failover: {mode: Sentinel, sentinel: {monitorName: a.B_c-1, quorum: 2, config: {down-after-milliseconds: "5000"}}}
  persistence: {size: 1Gi, storageClassName: fast, reclaimPolicy: Delete, mode: Both}
  users:
  - {name: default, nopass: true}
  - {name: app, passwordSecret: {name: s, keys: [a, b]}, commands: {allow: ["@read", get, config|get], deny: [keys]},
     keys: {readWrite: ["app:*"]}, channels: {patterns: ["*"]}, permissions: "+@all  -debug (+set ~b) &x"}
  config: {maxmemory-policy: allkeys-lru, save: "900 1"}
  networking: {tls: {enabled: true, secretName: s}}
  podDisruptionBudget: {maxUnavailable: 50%}
`, nil},
		"negative replicas": {`spec: {replicas: -1}`, []string{`spec.replicas: Invalid value: -1: must be greater than or equal to 0`}},
		"unknown mode":      {`spec: {failover: {mode: Raft}}`, []string{`spec.failover.mode: Unsupported value: "Raft": supported values: "None", "Operator", "Sentinel"`}},
		"sentinel block without the mode": {`spec: {failover: {sentinel: {quorum: 2}}}`,
			[]string{`spec.failover.sentinel: Forbidden: only with failover.mode Sentinel`}},
		"sentinel block with mode Operator": {`spec: {failover: {mode: Operator, sentinel: {}}}`,
			[]string{`spec.failover.sentinel: Forbidden: only with failover.mode Sentinel`}},
		"monitorName with a space": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: "a b"}}}`,
			[]string{`spec.failover.sentinel.monitorName: Invalid value: "a b": only letters, digits, ".", "-" and "_" are allowed`}},
		"monitorName with a newline": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: "a\nb"}}}`,
			[]string{`spec.failover.sentinel.monitorName: Invalid value: "a\nb": only letters, digits, ".", "-" and "_" are allowed`}},
		"monitorName too long": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: ` + strings.Repeat("m", 64) + `}}}`,
			[]string{`spec.failover.sentinel.monitorName: Too long: may not be more than 63 characters`}},
		"quorum 0": {`spec: {failover: {mode: Sentinel, sentinel: {quorum: 0}}}`,
			[]string{`spec.failover.sentinel.quorum: Invalid value: 0: must be greater than or equal to 1`}},
		"newline in a sentinel setting": {`spec: {failover: {mode: Sentinel, sentinel: {config: {down-after-milliseconds: "1\n2"}}}}`,
			[]string{`spec.failover.sentinel.config[down-after-milliseconds]: Invalid value: "1\n2": ` + control}},
		"downAfter 0": {`spec: {failover: {mode: Operator, operator: {downAfter: 0s}}}`,
			[]string{`spec.failover.operator.downAfter: Invalid value: "0s": must be greater than 0`}},
		"negative syncTimeout": {`spec: {rollingUpdate: {syncTimeout: -1s}}`,
			[]string{`spec.rollingUpdate.syncTimeout: Invalid value: "-1s": must be greater than 0`}},
		"image with a space": {`spec: {image: "valkey 8"}`,
			[]string{`spec.image: Invalid value: "valkey 8": must be the name of an image, without spaces`}},
		"exporter image with a space": {`spec: {exporter: {image: "e x"}}`,
			[]string{`spec.exporter.image: Invalid value: "e x": must be the name of an image, without spaces`}},
		"Deployment with replicas": {`spec: {workloadType: Deployment, replicas: 1}`,
			[]string{`spec.replicas: Invalid value: 1: must be 0 with workloadType Deployment`}},
		"Deployment with persistence": {`spec: {workloadType: Deployment, persistence: {size: 1Gi}}`,
			[]string{`spec.persistence: Forbidden: not with workloadType Deployment`}},
		"unknown workloadType": {`spec: {workloadType: DaemonSet}`,
			[]string{`spec.workloadType: Unsupported value: "DaemonSet": supported values: "Deployment", "StatefulSet"`}},
		"persistence without a size": {`spec: {persistence: {}}`,
			[]string{`spec.persistence.size: Invalid value: "0": must be greater than 0`}},
		"unknown persistence mode": {`spec: {persistence: {size: 1Gi, mode: Tape}}`,
			[]string{`spec.persistence.mode: Unsupported value: "Tape": supported values: "AOF", "Both", "RDB"`}},
		"unknown reclaimPolicy": {`spec: {persistence: {size: 1Gi, reclaimPolicy: Recycle}}`,
			[]string{`spec.persistence.reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"`}},
		"duplicate users": {`spec: {users: [{name: a}, {name: b}, {name: a}]}`,
			[]string{`spec.users[2]: Duplicate value: {"name":"a","enabled":true}`}},
		"user without a name": {`spec: {users: [{name: ""}]}`, []string{`spec.users[0].name: Required value`}},
		"user of the product": {`spec: {users: [{name: _operator}]}`,
			[]string{`spec.users[0].name: Invalid value: "_operator": must not begin with "_": those users are the product's own`}},
		"user with a space": {`spec: {users: [{name: "a b"}]}`,
			[]string{`spec.users[0].name: Invalid value: "a b": must not hold spaces, parentheses or control characters`}},
		"nopass and a password": {`spec: {users: [{name: a, nopass: true, passwordSecret: {name: s}}]}`,
			[]string{`spec.users[0].nopass: Forbidden: not together with passwordSecret`}},
		"passwordSecret without a name": {`spec: {users: [{name: a, passwordSecret: {name: ""}}]}`,
			[]string{`spec.users[0].passwordSecret.name: Required value`}},
		"newline in permissions": {`spec: {users: [{name: a, permissions: "+@all\nuser b on"}]}`,
			[]string{`spec.users[0].permissions: Invalid value: must be ACL rules separated by spaces: a rule with a blank or control character outside of a selector`}},
		"a password in permissions": {`spec: {users: [{name: a, permissions: "+@all >secret"}]}`,
			[]string{`spec.users[0].permissions: Invalid value: must be ACL rules separated by spaces: a rule about passwords or whether the user is on: these have fields of their own`}},
		"a selector that does not end": {`spec: {users: [{name: a, permissions: "+get (+set ~b"}]}`,
			[]string{`spec.users[0].permissions: Invalid value: must be ACL rules separated by spaces: a selector with unbalanced parentheses or empty words`}},
		"not a command": {`spec: {users: [{name: a, commands: {allow: ["get set"], deny: ["+x"]}}]}`, []string{
			`spec.users[0].commands.allow[0]: Invalid value: "get set": must be a command ("get"), a subcommand ("config|get") or a category ("@read")`,
			`spec.users[0].commands.deny[0]: Invalid value: "+x": must be a command ("get"), a subcommand ("config|get") or a category ("@read")`}},
		"pattern with a space": {`spec: {users: [{name: a, keys: {readWrite: ["a b"], readOnly: [""], writeOnly: ["a\tb"]}, channels: {patterns: ["a b"]}}]}`, []string{
			`spec.users[0].keys.readWrite[0]: Invalid value: "a b": must be a pattern without spaces or control characters`,
			`spec.users[0].keys.readOnly[0]: Invalid value: "": must be a pattern without spaces or control characters`,
			`spec.users[0].keys.writeOnly[0]: Invalid value: "a\tb": must be a pattern without spaces or control characters`,
			`spec.users[0].channels.patterns[0]: Invalid value: "a b": must be a pattern without spaces or control characters`}},
		"newline in a directive": {`spec: {config: {save: "900 1\nport 1"}}`,
			[]string{`spec.config[save]: Invalid value: "900 1\nport 1": ` + control}},
		"NUL in a directive's name": {`spec: {config: {"a\0b": x}}`,
			[]string{`spec.config: Invalid value: "a\x00b": must be the name of a directive: letters, digits and "-"`}},
		"space in a directive's name": {`spec: {config: {"save 900": "1"}}`,
			[]string{`spec.config: Invalid value: "save 900": must be the name of a directive: letters, digits and "-"`}},
		"two ways to a certificate": {`spec: {networking: {tls: {enabled: true, secretName: s, certManager: {issuerRef: {name: i}}}}}`,
			[]string{`spec.networking.tls.certManager: Forbidden: not together with secretName`}},
		"no way to a certificate": {`spec: {networking: {tls: {enabled: true}}}`,
			[]string{`spec.networking.tls.secretName: Required value: TLS needs secretName or certManager`}},
		"TLS on the plaintext port": {`spec: {networking: {tls: {enabled: true, secretName: s, allowUnencrypted: true, port: 6379}}}`,
			[]string{`spec.networking.tls.port: Invalid value: 6379: is the plaintext port while allowUnencrypted is set`}},
		"port too high": {`spec: {networking: {tls: {port: 65536}}}`,
			[]string{`spec.networking.tls.port: Invalid value: 65536: must be less than or equal to 65535`}},
		"not a percentage": {`spec: {podDisruptionBudget: {maxUnavailable: most}}`,
			[]string{`spec.podDisruptionBudget.maxUnavailable: Invalid value: "most": must be a number of pods, or a percentage from "0%" to "100%"`}},
		"negative maxUnavailable": {`spec: {podDisruptionBudget: {maxUnavailable: -1}}`,
			[]string{`spec.podDisruptionBudget.maxUnavailable: Invalid value: "-1": must be a number of pods, or a percentage from "0%" to "100%"`}},
		"grace period 0": {`spec: {terminationGracePeriodSeconds: 0}`,
			[]string{`spec.terminationGracePeriodSeconds: Invalid value: 0: must be greater than or equal to 1`}},
		"unknown spread": {`spec: {scheduling: {zone: {spread: {pods: {mode: Always}}}}}`,
			[]string{`spec.scheduling.zone.spread.pods.mode: Unsupported value: "Always": supported values: "Disabled", "Preferred", "Required"`}},
		"bad pod label": {`spec: {podLabels: {a: "b c"}}`,
			[]string{`spec.podLabels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			valkey := decoded(t, &Valkey{}, c.spec)
			got := messages(scheme(t).Validate(context.Background(), nil, valkey))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestMostReplicasIsWhatNamesAllow(t *testing.T) {
	valkey := decoded(t, &Valkey{}, `spec: {}`)
	valkey.Spec.Replicas = naming.MaxReplicas
	if errs := scheme(t).Validate(context.Background(), nil, valkey); len(errs) != 0 {
		t.Errorf("%d replicas: %v", naming.MaxReplicas, errs)
	}
	valkey.Spec.Replicas++
	want := []string{`spec.replicas: Invalid value: 999: must be less than or equal to 998`}
	if diff := cmp.Diff(want, messages(scheme(t).Validate(context.Background(), nil, valkey))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestValkeyRulesOnUpdate(t *testing.T) {
	wayOut := "to change it, make another Valkey and move the data there"
	cases := map[string]struct {
		old, spec string
		want      []string
	}{
		"replicas and config may change":   {`spec: {}`, `spec: {replicas: 3, config: {a: b}}`, nil},
		"persistence may grow":             {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 2Gi, mode: RDB, reclaimPolicy: Delete}}`, nil},
		"the same size, written otherwise": {`spec: {persistence: {size: 1Gi}}`, `spec: {replicas: 1, persistence: {size: 1024Mi}}`, nil},
		"persistence added": {`spec: {}`, `spec: {persistence: {size: 1Gi}}`,
			[]string{`spec.persistence: Forbidden: may not be added, there is none now; ` + wayOut}},
		"persistence removed": {`spec: {persistence: {size: 1Gi}}`, `spec: {}`,
			[]string{`spec.persistence: Forbidden: may not be removed, its size is 1Gi now; ` + wayOut}},
		"persistence shrunk": {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 512Mi}}`,
			[]string{`spec.persistence.size: Forbidden: may not shrink, it is 1Gi now; ` + wayOut}},
		"class set": {`spec: {persistence: {size: 1Gi}}`, `spec: {persistence: {size: 1Gi, storageClassName: fast}}`,
			[]string{`spec.persistence.storageClassName: Forbidden: may not change, it is the cluster's default now; ` + wayOut}},
		"class changed": {`spec: {persistence: {size: 1Gi, storageClassName: slow}}`, `spec: {persistence: {size: 1Gi, storageClassName: fast}}`,
			[]string{`spec.persistence.storageClassName: Forbidden: may not change, it is "slow" now; ` + wayOut}},
		"workloadType": {`spec: {}`, `spec: {workloadType: Deployment}`,
			[]string{`spec.workloadType: Invalid value: null: field is immutable`}},
		"monitorName changed": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`,
			[]string{`spec.failover.sentinel.monitorName: Forbidden: may not change while the sentinel block exists: it is "a", and clients ask the Sentinels for it`}},
		"monitorName set": {`spec: {failover: {mode: Sentinel, sentinel: {quorum: 2}}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`,
			[]string{`spec.failover.sentinel.monitorName: Forbidden: may not change while the sentinel block exists: it is "", and clients ask the Sentinels for it`}},
		"monitorName removed": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Sentinel, sentinel: {quorum: 2}}}`,
			[]string{`spec.failover.sentinel.monitorName: Forbidden: may not change while the sentinel block exists: it is "a", and clients ask the Sentinels for it`}},
		"the sentinel block goes with the mode": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: Operator}}`, nil},
		"the mode goes and the block stays": {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: a}}}`, `spec: {failover: {mode: None, sentinel: {monitorName: a}}}`,
			[]string{`spec.failover.sentinel: Forbidden: only with failover.mode Sentinel`}},
		"another monitorName with a new block": {`spec: {failover: {mode: Sentinel}}`, `spec: {failover: {mode: Sentinel, sentinel: {monitorName: b}}}`, nil},
		// Ratcheting: these could not be created.
		"an old bad directive beside a change": {`spec: {config: {"a b": c}}`, `spec: {replicas: 1, config: {"a b": c}}`, nil},
		"an old bad user beside a change":      {`spec: {users: [{name: _x}]}`, `spec: {replicas: 1, users: [{name: _x}, {name: y}]}`, nil},
		"an old bad monitorName":               {`spec: {failover: {mode: Sentinel, sentinel: {monitorName: "a b"}}}`, `spec: {replicas: 1, failover: {mode: Sentinel, sentinel: {monitorName: "a b"}}}`, nil},
		"an old bad image":                     {`spec: {image: "a b"}`, `spec: {replicas: 1, image: "a b"}`, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			old, valkey := decoded(t, &Valkey{}, c.old), decoded(t, &Valkey{}, c.spec)
			got := messages(scheme(t).ValidateUpdate(context.Background(), nil, valkey, old))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestStatusIsNotHeldUpByAnOldSpec(t *testing.T) {
	old := decoded(t, &Valkey{}, `spec: {failover: {sentinel: {}}, persistence: {size: "0"}}`)
	valkey := old.DeepCopy()
	valkey.Status.Replicas = 1
	if errs := scheme(t).ValidateUpdate(context.Background(), nil, valkey, old, "status"); len(errs) != 0 {
		t.Error(errs)
	}
	valkey.Status.Members = []MemberStatus{{Node: "a"}, {Node: "a"}}
	want := []string{`status.members[1]: Duplicate value: {"node":"a"}`}
	if diff := cmp.Diff(want, messages(scheme(t).ValidateUpdate(context.Background(), nil, valkey, old, "status"))); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
