// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package sentinel

import (
	"context"
	"os/exec"
	"regexp"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/process"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// certificateEvery is how often the mounted certificate is looked at.
	certificateEvery = 2 * time.Second
	// reloadEvery is how often a Sentinel that can reads its certificate again, in seconds (tls-auto-reload-interval).
	reloadEvery = "5"
)

var versionOf = regexp.MustCompile(`\bv=(\d+\.\d+)`)

func (a *Agent) binary() (string, error) {
	if a.options.Server != "" {
		return a.options.Server, nil
	}
	return process.Find("valkey-server")
}

// reloads tells whether the Sentinel takes a new certificate without a restart. Another one refuses the setting for it. It is asked before the
// Sentinel is started: from then on this process collects its children's children.
func (a *Agent) reloads(binary string) bool {
	if _, has := a.tls.Files(); !has || a.running() != nil {
		return false
	}
	told, err := exec.Command(binary, "--version").Output()
	if err != nil {
		a.options.Log.Warn("the version of the Sentinel is not known", "err", err)
		return false
	}
	found := versionOf.FindSubmatch(told)
	return found != nil && valkeyconf.SentinelReloads(string(found[1]))
}

// keepCertificate takes a certificate that has changed in its Secret over to where the Sentinel reads it. One that does not read it again by itself
// is replaced by the controller, one at a time.
func (a *Agent) keepCertificate(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, certificateEvery)
		changed, err := a.tls.Take()
		switch {
		case err != nil:
			a.options.Log.Error("the mounted certificate is not used: the Sentinel goes on with the one before", "err", err)
		case changed:
			a.options.Log.Info("a new certificate is there")
		}
	}
}
