// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// effectiveSettings are what a monitor is to be set to: our defaults with the user's values over them. What cannot be used is
// warned about and left out, so that it never reaches a Sentinel's file.
func (d *draft) effectiveSettings(valkey *Valkey) map[string]string {
	effective := maps.Clone(defaultSettings)
	sentinel := valkey.Object.Spec.Failover.Sentinel
	if sentinel == nil {
		return effective
	}
	accepted, rejected := valkeyconf.MonitorSettings(sentinel.Config)
	for _, directive := range accepted {
		effective[directive.Name] = directive.Value()
	}
	d.warnRejected("monitor "+valkey.Monitor, rejected)
	return effective
}

// processConfig is the user's process-wide configuration without what is not the user's to set.
func (d *draft) processConfig() map[string]string {
	_, rejected := valkeyconf.SentinelSettings(d.Set.Spec.Config)
	usable := maps.Clone(d.Set.Spec.Config)
	for _, key := range rejected {
		delete(usable, key.Key)
	}
	d.warnRejected("spec.config", rejected)
	return usable
}

func (d *draft) warnRejected(where string, rejected []valkeyconf.Rejected) {
	if len(rejected) == 0 {
		return
	}
	texts := make([]string, 0, len(rejected))
	for _, key := range rejected {
		texts = append(texts, key.Key+" ("+key.Reason+")")
	}
	d.warn(v1alpha1.ReasonIgnoredConfiguration, "%s: ignored: %s", where, strings.Join(texts, "; "))
}

// settingsDue are the settings of a monitor that a Sentinel does not have as they should be, in a fixed order. What it has refused is not
// tried again in the same process.
func (d *draft) settingsDue(m *monitor, at held, fresh bool) []Action {
	record, _ := d.record(at.run, m.name)
	var due []Action
	for _, key := range slices.Sorted(maps.Keys(m.settings)) {
		value := m.settings[key]
		if _, refused := record.Refused[RefusedKey(key, value)]; refused {
			continue
		}
		shown, visible := at.view.Settings[key]
		if fresh {
			shown, visible = sentinelDefaults[key]
		}
		if visible && shown == value || !visible && !fresh && record.Hidden[key] == value {
			continue
		}
		due = append(due, SetSetting{Sentinel: at.index, Run: at.run, Monitor: m.name, Key: key, Value: value, Hidden: !visible})
	}
	return due
}
