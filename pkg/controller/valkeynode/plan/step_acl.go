// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

const (
	// aclLoadEvery is how often a server is told to load its file while a changed one is awaited.
	aclLoadEvery = 4 * time.Second
	// aclArrivesWithin is how long a kubelet takes at most to bring a changed Secret into a pod, with room to spare.
	aclArrivesWithin = 3 * time.Minute
)

// stepACL makes the running server load a changed ACL file. The kubelet brings it into the pod in its own time, and nobody tells when: the
// server is told to load its file until what it reports is what is wanted. It disrupts nobody whose user did not change.
//
// What the server reports is compared with the file user by user: who there is, who is on, with which passwords, exactly; and the rules by
// their normal form. Rules can be spelled in ways that the server reports in another; then a changed report after a load, or the time in
// which every kubelet has brought the file, counts instead.
func stepACL(d *draft) {
	if d.Objects.ACL == "" || d.Server.ACL == nil {
		return
	}
	memory := d.plan.Memory.of(d.Server.RunID)
	isFirst := memory.ACL.Wanted == ""
	wanted, reported := valkeyconf.Hash(d.Objects.ACL), valkeyconf.Hash(d.Server.ACL...)
	if memory.ACL.Wanted != wanted {
		memory.ACL = ACLMemory{Wanted: wanted, Since: d.Now, Before: reported}
	}
	d.plan.acl = d.judgeACL(&memory.ACL, reported, isFirst)
	d.plan.Memory = memory
	if d.plan.acl.settled {
		return
	}
	d.soon = true
	if d.Now.Sub(memory.ACL.LoadedAt) < aclLoadEvery {
		return
	}
	d.do(LoadACL{Hash: wanted})
}

// judgeACL says where the wanted file stands, and notes in the memory when it was found to be in force.
func (d *draft) judgeACL(memory *ACLMemory, reported string, isFirst bool) standing {
	asExpected := standing{known: true, settled: true, reason: v1alpha1.ReasonAsExpected, message: "the server has loaded the ACL file"}
	if memory.Settled == reported {
		return asExpected
	}
	sameUsers, sameRules := compareACL(d.Objects.ACL, strings.Join(d.Server.ACL, "\n"))
	hasLoaded := !memory.LoadedAt.IsZero()
	arrived := hasLoaded && (memory.Before != reported || memory.LoadedAt.Sub(memory.Since) > aclArrivesWithin)
	// A server that this process sees for the first time has loaded its file at its start: one that has the right users is believed.
	if sameUsers && (sameRules || arrived || isFirst) {
		memory.Settled = reported
		return asExpected
	}
	if memory.Refused != "" {
		return standing{known: true, reason: v1alpha1.ReasonConfigRefused, message: "the server did not load its ACL file: " + memory.Refused}
	}
	return standing{known: true, reason: v1alpha1.ReasonApplying, message: "a changed ACL file is on its way to the server"}
}

// compareACL tells whether two ACL texts have the same users, on or off, with the same passwords, and whether the rules are the same too.
func compareACL(a, b string) (sameUsers, sameRules bool) {
	usersA, errA := normalACL(a)
	usersB, errB := normalACL(b)
	if errA != nil || errB != nil || len(usersA) != len(usersB) {
		return false, false
	}
	sameUsers, sameRules = true, true
	for name, user := range usersA {
		other, ok := usersB[name]
		sameUsers = sameUsers && ok && user.login == other.login
		sameRules = sameRules && user.rules == other.rules
	}
	return sameUsers, sameRules
}

type normalUser struct{ login, rules string }

func normalACL(text string) (map[string]normalUser, error) {
	users, err := valkeyconf.ParseACL(text)
	if err != nil {
		return nil, err
	}
	normal := map[string]normalUser{}
	for _, user := range users {
		hashes := slices.Clone(user.PasswordHashes)
		slices.Sort(hashes)
		login := []string{onOff(user.Enabled), onOff(user.NoPass)}
		normal[user.Name] = normalUser{strings.Join(append(login, hashes...), " "), normalRules(user.Rules)}
	}
	return normal, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// normalRules writes rules as the server reports them: keys before channels before commands, and a word for all of them as a pattern.
func normalRules(rules []string) string {
	var keys, channels, commands []string
	for _, rule := range rules {
		switch {
		case rule == "allkeys":
			keys = append(keys, "~*")
		case rule == "allchannels":
			channels = append(channels, "&*")
		case rule == "allcommands":
			commands = append(commands, "+@all")
		case rule == "nocommands":
			commands = append(commands, "-@all")
		case strings.HasPrefix(rule, "&"):
			channels = append(channels, rule)
		case strings.HasPrefix(rule, "~"), strings.HasPrefix(rule, "%"):
			keys = append(keys, rule)
		default:
			commands = append(commands, rule)
		}
	}
	return strings.Join(keys, " ") + "|" + strings.Join(channels, " ") + "|" + strings.Join(commands, " ")
}
