// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/valkeykube/valkeykube/pkg/agent/probe"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/topology"
	"github.com/valkeykube/valkeykube/pkg/valkeyconf"
)

// lockedLook is how often it is looked whether a server may be restarted.
const lockedLook = time.Second

// users keeps the product's own users in the server as the mounted file has them. If somebody changed one by hand, or all Secrets were lost
// and drawn anew, the controller cannot log in to say so: this agent can, as long as its own user is not among them.
type users struct {
	next   time.Time
	locked time.Time // since when the server lets this agent in no more; zero while it does
	said   string
}

func (u *users) say(a *Agent, text string) {
	if u.said != text {
		a.options.Log.Warn(text)
	}
	u.said = text
}

// keepUsers compares and, where they differ, makes the server load the file. Users of the spec are the controller's to compare.
func (a *Agent) keepUsers(ctx context.Context, u *users, m topology.Member) {
	if m.Reach.Class == topology.ReachAuth {
		a.unlock(ctx, u)
		return
	}
	if m.Answered() {
		u.locked = time.Time{}
	}
	if !m.Reach.OK() || time.Now().Before(u.next) {
		return
	}
	u.next = time.Now().Add(a.options.UsersEvery)
	text, err := os.ReadFile(filepath.Join(a.options.ACLDir, naming.KeyACL))
	if err != nil {
		return // a node that was made by hand has none
	}
	node, err := a.clients.Node(a.own(a.login()))
	if err != nil {
		return
	}
	reported, err := node.ACLList(ctx)
	if err != nil {
		return // of a server that has not loaded the file with this right yet, or is busy
	}
	changed := changedUsers(string(text), strings.Join(reported, "\n"))
	if len(changed) == 0 {
		u.said = ""
		return
	}
	if err := node.ACLLoad(ctx); err != nil {
		u.say(a, fmt.Sprintf("users differ from the ACL file (%s), and the server does not load it: %v", strings.Join(changed, ", "), err))
		return
	}
	a.options.Log.Warn("the ACL file was loaded: users differed from it", "users", changed)
}

// changedUsers are the product's own users whose login is not the same in two ACL texts.
func changedUsers(file, reported string) []string {
	wanted, got := logins(file), logins(reported)
	var changed []string
	for _, name := range naming.SystemUsers() {
		if login, declared := wanted[name]; declared && got[name] != login {
			changed = append(changed, name)
		}
	}
	return changed
}

func logins(text string) map[string]string {
	parsed, err := valkeyconf.ParseACL(text)
	if err != nil {
		return nil
	}
	byName := map[string]string{}
	for _, user := range parsed {
		hashes := slices.Clone(user.PasswordHashes)
		slices.Sort(hashes)
		byName[user.Name] = fmt.Sprint(user.Enabled, user.NoPass, hashes)
	}
	return byName
}

// unlock restarts a server that lets the agent in no more, with any password that ever worked: it loads the file at its start. Replicas go
// first, one at a time, and never the only copy. Nothing else tells a server to load its file without a login.
func (a *Agent) unlock(ctx context.Context, u *users) {
	now := time.Now()
	if u.locked.IsZero() {
		u.locked = now
	}
	settings, err := a.options.settings()
	if err != nil || now.Before(u.next) {
		return
	}
	u.next = now.Add(lockedLook)
	s := newSet(settings, a.options)
	own := a.current().Node
	turn := s.index()
	if own.WasPrimary {
		turn = len(s.Members) + 1
	}
	// Each further member waits half as long again: never two at a time.
	if now.Sub(u.locked) < a.options.LockedPatience+time.Duration(turn)*a.options.LockedPatience/2 {
		u.say(a, "the server lets the agent in with none of its passwords")
		return
	}
	if why := a.mayRestart(s, own, a.reports(ctx, s.Members)); why != "" {
		u.say(a, "the server lets the agent in with none of its passwords, and is not restarted: "+why)
		return
	}
	a.options.Log.Warn("the server lets the agent in with none of its passwords: it is ended, to load its ACL file")
	u.locked = now
	a.child.Signal(syscall.SIGTERM)
}

// mayRestart says why the server may not be restarted; empty if it may.
func (a *Agent) mayRestart(s set, own *probe.Node, reports map[string]*probe.Report) string {
	copies := 0
	for _, member := range s.Members {
		if member.Name == s.self.Name {
			continue
		}
		report := reports[member.Name]
		if report == nil || report.Phase != probe.PhaseRunning || report.Node == nil || report.Node.Running == nil {
			return member.Name + " is not running"
		}
		running := report.Node.Running
		if running.Role == topology.RoleReplica && !running.LinkUp {
			return member.Name + " is not in sync"
		}
		copies++
	}
	if copies == 0 && own.HasData && !a.keepsOnDisk(s) {
		return "it holds the only copy of its data, in memory"
	}
	return ""
}

// keepsOnDisk tells whether the server writes its data to a volume before it ends.
func (a *Agent) keepsOnDisk(s set) bool {
	config, err := a.options.baseConfig()
	if err != nil || !s.Persistent {
		return false
	}
	appendOnly, _ := config.Last("appendonly")
	save, set := config.Last("save")
	return appendOnly.Value() == "yes" || !set || save.Value() != ""
}
