// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyconf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Rejected is a key of a user's configuration that is not used, and why.
type Rejected struct {
	Key    string
	Reason string
	// Owned: the key is the product's own. Otherwise the key or its value is invalid.
	Owned bool
}

// NodeSettings turns a user's configuration of data nodes into directives, sorted by key, and says what was left out.
// A value is what would follow the key in valkey.conf; quotes are needed only where the file needs them to keep words
// together in a directive of several arguments.
func NodeSettings(config map[string]string) (Config, []Rejected) {
	return settings(config, OwnedByNode, nodeDirective)
}

// SentinelSettings does the same for the process-wide configuration of Sentinels. Keys may be written with or without
// the word "sentinel" before them.
func SentinelSettings(config map[string]string) (Config, []Rejected) {
	return settings(config, OwnedBySentinel, sentinelDirective)
}

// MonitorSettings does the same for the settings of one monitor. Each directive is named by its setting, such as
// "down-after-milliseconds", and has one argument. Only what Sentinel knows and accepts is let through: in its file
// anything else keeps it from starting.
func MonitorSettings(config map[string]string) (Config, []Rejected) {
	return settings(config, OwnedByMonitor, monitorDirective)
}

func settings(config map[string]string, owned func(string) (string, bool), convert func(key, value string) (Directive, error)) (Config, []Rejected) {
	keys := make([]string, 0, len(config))
	for key := range config {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var accepted Config
	var rejected []Rejected
	for _, key := range keys {
		if reason, isOwned := owned(key); isOwned {
			rejected = append(rejected, Rejected{Key: key, Reason: reason, Owned: true})
			continue
		}
		directive, err := convert(strings.TrimSpace(key), config[key])
		if err == nil {
			_, err = directive.line()
		}
		if err != nil {
			rejected = append(rejected, Rejected{Key: key, Reason: err.Error()})
			continue
		}
		accepted = append(accepted, directive)
	}
	return accepted, rejected
}

// listDirectives take several arguments. The value of every other directive is one argument, however many words it has.
var listDirectives = []string{
	"save", "client-output-buffer-limit", "loadmodule", "latency-tracking-info-percentiles", "oom-score-adj-values", "bind",
	"ignore-warnings", "debug-context",
}

func nodeDirective(key, value string) (Directive, error) {
	key = strings.ToLower(key)
	value = strings.Trim(value, " \t")
	if strings.ContainsAny(value, "\n\r\x00") {
		return Directive{}, fmt.Errorf("the value holds a newline or NUL")
	}
	words, err := splitArgs(value)
	if err != nil {
		return Directive{}, err
	}
	switch {
	case value == "":
		return D(key, ""), nil
	case len(words) > 1 && !slices.Contains(listDirectives, key):
		return D(key, value), nil
	default:
		return D(key, words...), nil
	}
}

// mostOfASetting is the largest value: half of what Sentinel's own arithmetic can hold.
const mostOfASetting = 1<<30 - 1

func sentinelDirective(key, value string) (Directive, error) {
	return nodeDirective(withoutSentinel(key), value)
}

func withoutSentinel(key string) string {
	key = strings.ToLower(strings.TrimSpace(key))
	if rest, ok := strings.CutPrefix(key, "sentinel"); ok && strings.TrimLeft(rest, " \t") != rest {
		return strings.TrimLeft(rest, " \t")
	}
	return key
}

// downAfter is how long a server may owe an answer before Sentinel holds it for down.
const downAfter = "down-after-milliseconds"

// monitorKeys are the numeric settings of a monitor with their smallest values (sentinel.c: sentinelSetCommand and the
// reader of its file, which is the stricter of both).
var monitorKeys = map[string]int64{
	downAfter:                          1,
	"failover-timeout":                 1,
	"parallel-syncs":                   0,
	"primary-reboot-down-after-period": 0,
}

// IsMonitorSetting tells whether Sentinel knows a setting of a monitor by that name.
func IsMonitorSetting(key string) bool {
	_, known := monitorKeys[Canonical(withoutSentinel(key))]
	return known
}

// IsDownAfter tells whether the setting is that one, in any spelling.
func IsDownAfter(key string) bool { return Canonical(withoutSentinel(key)) == downAfter }

// CheckMonitorSetting tells what is wrong with the value of a setting of a monitor. Of what is none it says nothing.
func CheckMonitorSetting(key, value string) error {
	least, known := monitorKeys[Canonical(withoutSentinel(key))]
	if !known {
		return nil
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err != nil || n < least || n > mostOfASetting {
		return fmt.Errorf("must be a whole number from %d to %d", least, mostOfASetting)
	}
	return nil
}

func monitorDirective(key, value string) (Directive, error) {
	name := withoutSentinel(key)
	if !IsMonitorSetting(name) {
		return Directive{}, fmt.Errorf("not a setting of a monitor")
	}
	if err := CheckMonitorSetting(name, value); err != nil {
		return Directive{}, err
	}
	// The older spelling is understood by all versions.
	if Canonical(name) == "primary-reboot-down-after-period" {
		name = "master-reboot-down-after-period"
	}
	return D(name, strings.TrimSpace(value)), nil
}
