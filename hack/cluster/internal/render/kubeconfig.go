// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig is a kubeconfig for a client with a certificate, which it contains.
func Kubeconfig(cluster, server, user string, ca, cert, key []byte) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
contexts:
- name: %[1]s
  context: {cluster: %[1]s, user: %[4]s}
current-context: %[1]s
users:
- name: %[4]s
  user:
    client-certificate-data: %[5]s
    client-key-data: %[6]s
`, cluster, server, encode(ca), user, encode(cert), encode(key))
}

// AuditPolicy keeps a line of who wrote what, and no content: a Secret must not end in a log.
func AuditPolicy() []byte {
	return []byte(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: Metadata
`)
}
