// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/boot"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/naming"
)

// stepBoot keeps what the agents read when a Sentinel starts: whom it watches, as whom, and its users. With it a Sentinel that lost
// everything is whole again without the controller. It disrupts nothing: a running Sentinel does not read it.
// A monitor is left out until its primary has been seen once, so that no Sentinel ever watches an address that leads nowhere.
func stepBoot(d *draft) {
	acl, users, ok := d.aclFile()
	d.plan.revision = d.revisionFor(users, ok)
	if !ok {
		return
	}
	settings := boot.Sentinel{
		Namespace: d.Set.Namespace,
		Set:       d.Set.Name,
		SetUID:    string(d.Set.UID),
		PeerUser:  naming.UserPeer,
		PeerPass:  d.password(naming.UserPeer),
		Config:    d.processConfig(),
		TLS:       desired.SentinelBootTLS(d.Set.Spec.Networking.TLS),
		DNS:       d.Environment.DNS,
	}
	for i := range d.plan.size {
		settings.Peers = append(settings.Peers, boot.Endpoint{
			Name: naming.SentinelPod(d.Set.Name, i),
			Host: naming.SentinelHost(d.Set.Name, i, d.Set.Namespace, d.Environment.DNS.ClusterDomain),
			Port: naming.PortSentinel,
		})
	}
	for i := range d.plan.monitors {
		if monitor, ok := d.bootMonitor(&d.plan.monitors[i]); ok {
			settings.Monitors = append(settings.Monitors, monitor)
		}
	}
	config, err := desired.SentinelBootSecret(d.Set, settings, acl)
	if err != nil {
		d.unwell = true
		d.block(v1alpha1.ReasonApplyFailed, "%v", err)
		return
	}
	ensure(d, d.Objects.Boot, Apply{Kind: KindSecret, Name: naming.SentinelBootSecret(d.Set.Name), Config: config})
}

// bootMonitor is a monitor for the boot settings: at its primary, or where it was last while that is in doubt.
func (d *draft) bootMonitor(m *monitor) (boot.Monitor, bool) {
	at := m.primary
	noted, known := d.noted(m.name)
	if at.IsZero() && known && nodeAt(*m.valkey, noted) >= 0 {
		at = noted
	}
	if at.IsZero() || m.password == "" || !known && (d.isConnecting(m) || m.mismatch != "") {
		return boot.Monitor{}, false
	}
	return boot.Monitor{
		Name: m.name, Host: at.Host, Port: at.Port, Members: m.valkey.Nodes, Quorum: m.quorum,
		AuthUser: m.user, AuthPass: string(m.password), Settings: m.settings,
	}, true
}

// aclFile is the Sentinels' ACL file, and the part of it that is about the user's own users. It is not ok while passwords are missing; a
// set that runs then goes on with what it has.
func (d *draft) aclFile() (file, users string, ok bool) {
	passwords := map[string]string{}
	for _, user := range systemUsers() {
		password := d.password(user)
		if password == "" {
			return "", "", false // stepPasswords has said why.
		}
		passwords[user] = password
	}
	previous := ""
	if live := d.Objects.Boot; isOwned(d, live) {
		previous = string(live.Data[naming.KeyACL])
	}
	acl, err := desired.NewSentinelACL(desired.SentinelACLInput{
		Users: d.Set.Spec.Users, SystemPasswords: passwords, Secrets: d.userSecrets(), Previous: previous,
	})
	if err != nil {
		d.block(v1alpha1.ReasonApplyFailed, "%v", err)
		return "", "", false
	}
	if len(acl.Missing) > 0 {
		d.block(v1alpha1.ReasonSecretMissing, "%s", strings.Join(acl.Missing, "; "))
	}
	if len(acl.Invalid) > 0 {
		d.warn(v1alpha1.ReasonIgnoredConfiguration, "spec.users: %s", strings.Join(acl.Invalid, "; "))
	}
	return acl.File, acl.Declared, true
}

// userSecrets are the data of the Secrets that spec.users names.
func (d *draft) userSecrets() map[string]map[string][]byte {
	data := map[string]map[string][]byte{}
	for name, secret := range d.Objects.UserSecrets {
		data[name] = secret.Data
	}
	return data
}

// revisionFor is the revision of the pods; while the ACL file cannot be made it stays what it is, so that nothing is restarted for it.
func (d *draft) revisionFor(users string, ok bool) string {
	if live := d.Objects.Workload; !ok && live != nil && live.Annotations[naming.AnnotationRevision] != "" {
		return live.Annotations[naming.AnnotationRevision]
	}
	return desired.SentinelRevision(d.Set.Spec, users)
}

// systemUsers are the product's own users on Sentinels, the exporter's among them.
func systemUsers() []string {
	users := append(naming.SentinelSystemUsers(), naming.UserExporter)
	slices.Sort(users)
	return slices.Compact(users)
}
