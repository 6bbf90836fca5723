// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/desired"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// stepConfig changes directives of the running server that differ from the spec: what a person set by hand goes back too. The server's file
// holds the same directives, so nothing is lost with the pod. It disrupts nothing by itself.
//
// A server spells many values its own way (1gb is 1073741824). What it reported after it accepted a value counts as that value.
func stepConfig(d *draft) {
	if d.Server.Config == nil {
		return
	}
	memory := d.plan.Memory.of(d.Server.RunID)
	var waiting, refused []string
	for _, directive := range LiveConfig(d.Node, d.Server.Version) {
		key, wanted := directive.Name, directive.Value()
		known := memory.Config[key]
		reported, exists := d.Server.Config[key]
		switch {
		case !exists:
			refused = append(refused, key+": the server has no such directive")
		case isSameValue(wanted, reported), known.Wanted == wanted && known.Refused == "" && known.Reported == reported:
		case known.Wanted == wanted && known.Refused != "":
			refused = append(refused, key+": "+known.Refused)
		default:
			waiting = append(waiting, key)
			d.do(SetConfig{Key: key, Value: wanted})
		}
	}
	d.plan.Memory = memory
	d.plan.configured = configStanding(waiting, refused)
}

func configStanding(waiting, refused []string) standing {
	switch {
	case len(refused) > 0:
		return standing{known: true, reason: v1alpha1.ReasonConfigRefused, message: strings.Join(refused, "; ")}
	case len(waiting) > 0:
		return standing{known: true, reason: v1alpha1.ReasonApplying, message: "being set: " + strings.Join(waiting, ", ")}
	default:
		return standing{known: true, settled: true, reason: v1alpha1.ReasonAsExpected, message: "the server reports what the spec asks for"}
	}
}

// priority is set by the agent, until a replica has a copy, and by hand-overs, to choose whom Sentinel promotes. Nobody else may touch it under
// a running server; what the spec says of it holds from the next start.
const priority = "replica-priority"

// LiveConfig is what of the node's configuration a running server of the version can be told, sorted by name: the spec's directives, and what
// follows from persistence. What only a restart changes is part of the node's revision instead.
func LiveConfig(node *v1alpha1.ValkeyNode, version string) []valkeyconf.Directive {
	byName := map[string]valkeyconf.Directive{}
	own, _ := valkeyconf.NodeSettings(node.Spec.Config)
	for _, directive := range desired.ServerConfig(node.Spec.Persistence, own) {
		name := strings.ToLower(directive.Name)
		isFixed := valkeyconf.FixedAtRuntime(version, name) || valkeyconf.FixedAtRuntime("", name)
		if !isFixed && valkeyconf.Canonical(name) != priority {
			byName[name] = valkeyconf.D(name, directive.Args...)
		}
	}
	live := make([]valkeyconf.Directive, 0, len(byName))
	for _, directive := range byName {
		live = append(live, directive)
	}
	slices.SortFunc(live, func(a, b valkeyconf.Directive) int { return strings.Compare(a.Name, b.Name) })
	return live
}

// isSameValue tells whether two spellings of a directive's value mean the same. It may say no where they do; never yes where they do not.
func isSameValue(a, b string) bool {
	a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	if strings.EqualFold(a, b) {
		return true
	}
	x, okX := bytesOf(a)
	y, okY := bytesOf(b)
	return okX && okY && x == y
}

// bytesOf reads a number with the server's units: k, m, g are powers of 1000, kb, mb, gb of 1024.
func bytesOf(text string) (int64, bool) {
	text = strings.ToLower(text)
	digits := strings.TrimRight(text, "bgkm")
	factor, ok := map[string]int64{
		"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000 * 1000, "mb": 1 << 20, "g": 1000 * 1000 * 1000, "gb": 1 << 30,
	}[text[len(digits):]]
	number, err := strconv.ParseInt(digits, 10, 64)
	return number * factor, ok && err == nil
}
