// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/tls"
	"fmt"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// etcdTLS is nil where no certificates are named.
func etcdTLS(config storagebackend.TransportConfig) (*tls.Config, error) {
	if config.TrustedCAFile == "" && config.CertFile == "" {
		return nil, nil
	}
	info := transport.TLSInfo{CertFile: config.CertFile, KeyFile: config.KeyFile, TrustedCAFile: config.TrustedCAFile}
	tlsConfig, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("certificates of etcd: %w", err)
	}
	return tlsConfig, nil
}
