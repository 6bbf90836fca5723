// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyclient"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// takeCertificate is for the start: without any certificate that can be used a server that is to have one does not start.
func (a *Agent) takeCertificate() error {
	_, err := a.tls.Take()
	if err == nil {
		return nil
	}
	if a.tls.Encryption().Config == nil {
		return err
	}
	a.options.Log.Error("the mounted certificate is not used: the server goes on with the one before", "err", err)
	return nil
}

// encryption is how the other processes are spoken to. While plaintext is served anywhere, they may speak either.
func (a *Agent) encryption() valkeyclient.Encryption {
	e := a.tls.Encryption()
	if e.Config == nil {
		return e
	}
	settings, err := a.options.settings()
	e.Mixed = err != nil || settings.TLS == nil || settings.TLS.Plaintext
	return e
}

// serving is which certificate the server has been given.
type serving struct {
	next     time.Time
	revision string
	said     string
}

// keepCertificate gives the running server a certificate that has changed in its Secret. One that it refuses, or that cannot be used, leaves it
// with the one that it serves.
func (a *Agent) keepCertificate(ctx context.Context, c *serving, m topology.Member) {
	if time.Now().Before(c.next) {
		return
	}
	c.next = time.Now().Add(a.options.CertificateEvery)
	if _, err := a.tls.Take(); err != nil {
		a.options.Log.Error("the mounted certificate is not used: the server goes on with the one before", "err", err)
	}
	files, has := a.tls.Files()
	revision := a.tls.Encryption().Revision
	if !has || !m.Reach.OK() || revision == c.revision {
		return
	}
	err := a.configure(ctx, settings(files.Config())...)
	switch {
	case err == nil:
		c.revision, c.said = revision, ""
		a.options.Log.Info("the server serves the new certificate")
	case c.said != err.Error():
		c.said = err.Error()
		a.options.Log.Error("the server does not take the new certificate", "err", err)
	}
}

func settings(config valkeyconf.Config) []valkeyclient.Setting {
	var pairs []valkeyclient.Setting
	for _, directive := range config {
		pairs = append(pairs, valkeyclient.Setting{Key: directive.Name, Value: directive.Value()})
	}
	return pairs
}
