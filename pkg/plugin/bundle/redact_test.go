// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestTextHidesWhatIsSecret(t *testing.T) {
	const secret = "s3cr3t-v4lue"
	for _, text := range []string{
		"requirepass " + secret,
		`masterauth "` + secret + `"`,
		"sentinel auth-pass cache " + secret,
		"sentinel sentinel-pass " + secret,
		"connect to redis://app:" + secret + "@host:6379/0",
		"Authorization: Bearer " + secret,
		`{"password":"` + secret + `","user":"app"}`,
		"DB_PASSWORD=" + secret,
		"-----BEGIN RSA PRIVATE KEY-----\n" + secret + "\n-----END RSA PRIVATE KEY-----\nbehind",
		"token: " + secret,
		"tls-key-file-pass " + secret,
		"data: " + base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY-----\n"+secret+"\n-----END PRIVATE KEY-----\n")),
	} {
		if got := Text(text); strings.Contains(got, secret) || !strings.Contains(got, hidden) {
			t.Errorf("%q became %q", text, got)
		}
	}
	hash := strings.Repeat("0123456789abcdef", 4)
	if got := Text("user app on #" + hash); strings.Contains(got, hash) {
		t.Errorf("a hash of a password: %q", got)
	}
	for _, text := range []string{
		"Secret app-password does not exist",
		"replication id 0123456789012345678901234567890123456789",
		"image docker.io/valkey/valkey@sha256:" + hash + " pulled",
		"failover from cache-0 to cache-1 took 1.2s",
		"maxmemory-policy allkeys-lru",
		"data: " + base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")),
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestObjectsKeepWhatIsNeeded(t *testing.T) {
	const text = `
metadata:
  name: cache
  managedFields: [{manager: kubectl}]
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "all of it", note: kept}
spec:
  config: {requirepass: hunter2, maxmemory: 1gb}
  users:
  - {name: app, passwordSecret: {name: app-password, keys: [password]}, permissions: "on >hunter2 ~* +@all"}
  containers:
  - name: side
    env: [{name: REDIS_PASSWORD, value: hunter2}, {name: MODE, value: fast}, {name: OTHER_TOKEN, valueFrom: {secretKeyRef: {name: s, key: k}}}]
    args: [--pass, hunter2, --speed, high, "--url=redis://a:hunter2@h"]
data:
  valkey.conf: "maxmemory 1gb\nmasterauth hunter2\n"
  users.acl: "user app on >hunter2 ~*"
`
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	Object(object)
	encoded, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	got := string(encoded)
	if strings.Contains(got, "hunter2") || strings.Contains(got, "all of it") || strings.Contains(got, "managedFields") {
		t.Errorf("left in: %s", got)
	}
	for _, kept := range []string{`"maxmemory":"1gb"`, `"name":"app-password"`, `"keys":["password"]`, `"value":"fast"`, `"high"`, `"note":"kept"`, "~* +@all", `"secretKeyRef":{"key":"k","name":"s"}`} {
		if !strings.Contains(got, strings.ReplaceAll(kept, "&", `\u0026`)) {
			t.Errorf("%s is not in %s", kept, got)
		}
	}
}
