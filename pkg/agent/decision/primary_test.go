// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package decision

import (
	"testing"
	"time"
)

func TestRestartedPrimaryWithoutData(t *testing.T) {
	alive := func(in *Input) { replica("v-1", "v-0", onA(9))(in); replica("v-2", "v-0", onA(8))(in) }
	named := sentinels(0, "v-0", "v-0", "v-0")
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"Sentinel: asks for a failover at once (D1)":       {look(hint("v-0"), named, alive), "wait EmptyAmongData +failover v-1"},
		"Sentinel: for as long as it takes":                {look(hint("v-0"), named, alive, after(time.Hour)), "wait EmptyAmongData +failover v-1"},
		"Sentinel: also while they hold it for down":       {look(hint("v-0"), named, pending, alive), "wait EmptyAmongData +failover v-1"},
		"Sentinel: then follows":                           {look(hint("v-0"), sentinels(1, "v-1", "v-1", "v-1"), primary("v-1", onB(10)), replica("v-2", "v-1", onB(10))), "replica of v-1 Follow"},
		"Sentinel: nobody to ask":                          {look(hint("v-0"), sentinels(0, "-", "-", "-"), alive, after(time.Minute)), "wait EmptyAmongData"},
		"Sentinel: those that are there do not monitor it": {look(hint("v-0"), sentinels(0, "", "", "-"), alive), "wait EmptyAmongData +promote v-1"},
		"Sentinel: too few answer to know":                 {look(hint("v-0"), sentinels(0, "", "-", "-"), alive, after(time.Minute)), "wait EmptyAmongData"},
		"Sentinel: but none monitors it":                   {look(hint("v-0"), mode(ModeSentinel), alive), "wait EmptyAmongData +promote v-1"},
		"Operator: the controller will promote":            {look(hint("v-0"), mode(ModeOperator), alive), "wait EmptyAmongData"},
		"Operator: however long it takes":                  {look(hint("v-0"), mode(ModeOperator), alive, after(time.Hour)), "wait EmptyAmongData"},
		"Operator: it did":                                 {look(hint("v-0"), mode(ModeOperator), primary("v-2", onB(9)), replica("v-1", "v-2", onB(9))), "replica of v-2 Follow"},
		"None: asks the best peer (D4)":                    {look(hint("v-0"), alive), "wait EmptyAmongData +promote v-1"},
		"None: not before all were asked":                  {look(hint("v-0"), replica("v-2", "v-0", onA(8))), "wait EmptyAmongData"},
		"None: without those that do not answer":           {look(hint("v-0"), replica("v-2", "v-0", onA(8)), after(10*time.Second)), "wait EmptyAmongData +promote v-2"},
		"None: a hint that the replicas refute":            {look(hint("v-1"), alive), "wait EmptyAmongData +promote v-1"},
		"None: only the node that is recorded":             {look(hint("v-1"), record(isPrimary, "", 7), deciding("v-1", "v-0", SourceHint), replica("v-2", "v-1", onA(8))), "wait AwaitPrimary"},
		"None: it did":                                     {look(hint("v-0"), primary("v-1", onB(9)), replica("v-2", "v-0", onA(8))), "replica of v-1 Follow"},
		"a replica that is loading is not asked":           {look(hint("v-0"), alive, loading("v-1")), "wait EmptyAmongData"},
		"a replica that is loading for ever is not asked":  {look(hint("v-0"), alive, loading("v-1"), after(time.Hour)), "wait EmptyAmongData +promote v-2"},
		"replicas without keys are no reason to wait":      {look(hint("v-0"), alive, emptied("v-1"), emptied("v-2")), "primary Named"},
		"data of peers that have not started":              {look(hint("v-0"), deciding("v-1", "v-0", SourceHint, holding(onA(5))), deciding("v-2", "v-0", SourceHint)), "wait EmptyAmongData"},
		"nobody has data":                                  {look(hint("v-0"), deciding("v-1", "v-0", SourceHint), deciding("v-2", "v-0", SourceHint)), "primary Named"},
		"it had no keys before":                            {look(hint("v-0"), record(isPrimary, "", 0)), "primary Named"},
		"no volumes, no other pods":                        {look(hint("v-0")), "primary Named"},
		"volumes whose pods are not there yet":             {look(hint("v-0"), persistent), "wait AwaitMembers"},
		"pods that do not answer":                          {look(hint("v-0"), sight("v-1", Unreachable)), "wait AwaitMembers"},
		"pods that do not answer for ever":                 {look(hint("v-0"), sight("v-1", Unreachable), after(time.Hour)), "primary Named"},
		"without name resolution, for ever (A15)":          {look(hint("v-0"), sight("v-1", Blind), sight("v-2", Blind), after(time.Hour)), "wait AwaitNameResolution"},
		"unconfirmed record, hint not written yet":         {look(record(isPrimary, "", 7), alive), "wait EmptyAmongData +promote v-1"},
		"restarts before the hint, nobody else was ever":   {look(record(isPrimary, "", 7)), "primary Named"},
	})
}

func TestRestartedPrimaryWithData(t *testing.T) {
	alive := func(in *Input) { replica("v-1", "v-0", onA(9))(in); replica("v-2", "v-0", onA(8))(in) }
	named := sentinels(0, "v-0", "v-0", "v-0")
	was := record(isPrimary, "", 7)
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"all of it":                                   {look(hint("v-0"), data(onA(9)), alive, complete, was), "primary Named"},
		"all of it, recorded a moment ago":            {look(hint("v-0"), data(onA(7)), alive, complete, was), "primary Named"},
		"all of it, and Sentinels":                    {look(hint("v-0"), data(onA(9)), alive, complete, was, named), "primary Named"},
		"all of it, but a failover is due":            {look(hint("v-0"), data(onA(9)), alive, complete, was, named, pending), "wait AwaitFailover"},
		"all of it, and the failover does not happen": {look(hint("v-0"), data(onA(9)), alive, complete, was, named, pending, after(20*time.Second)), "primary Named"},
		"a failover is due, but nobody could be chosen": {
			look(hint("v-0"), data(onA(9)), complete, was, named, pending, deciding("v-1", "v-0", SourceHint), deciding("v-2", "v-0", SourceHint)), "primary Named",
		},
		"an old snapshot: Sentinel":                  {look(hint("v-0"), data(onA(3)), alive, was, named), "wait OlderThanPeer +failover v-1"},
		"an old snapshot: Operator":                  {look(hint("v-0"), data(onA(3)), alive, was, mode(ModeOperator)), "wait OlderThanPeer"},
		"an old snapshot: None":                      {look(hint("v-0"), data(onA(3)), alive, was), "wait OlderThanPeer +promote v-1"},
		"an old snapshot, and the authority is away": {look(hint("v-0"), data(onA(3)), alive, was, mode(ModeOperator), after(2*time.Minute)), "primary ServesOlderData"},
		"an old snapshot, as old as its replicas":    {look(hint("v-0"), data(onA(9)), alive, was), "primary Named"},
		"an old snapshot, and a member not seen":     {look(hint("v-0"), data(onA(9)), was, replica("v-1", "v-0", onA(9))), "wait AwaitMembers"},
		"an old snapshot, and a member that is gone": {look(hint("v-0"), data(onA(9)), was, replica("v-1", "v-0", onA(9)), after(6*time.Second)), "primary Named"},
		"an old snapshot, replicas whose agents looked before": {
			look(hint("v-0"), data(onA(3)), was, unlinked("v-1", "v-0", onA(9), onA(3)), unlinked("v-2", "v-0", onA(9), onA(2))), "wait OlderThanPeer +promote v-1",
		},
		"an old snapshot, replicas that were never linked": {
			look(hint("v-0"), data(onB(3)), was, unlinked("v-1", "v-0", stranger(1), onB(9)), unlinked("v-2", "v-0", stranger(1), onB(3))), "wait OlderThanPeer +promote v-1",
		},
		"a branch that was left":                        {look(hint("v-0"), data(onA(50)), was, replica("v-1", "v-0", onB(9)), replica("v-2", "v-0", onB(9))), "wait OlderThanPeer +promote v-1"},
		"cold: not before all are seen":                 {look(hint("v-0"), data(onA(9)), complete, was, deciding("v-1", "v-0", SourceHint)), "wait AwaitMembers"},
		"cold: bounded":                                 {look(hint("v-0"), data(onA(9)), complete, was, deciding("v-1", "v-0", SourceHint), after(40*time.Second)), "primary Named"},
		"cold: Sentinels that know":                     {look(hint("v-0"), data(onA(9)), complete, was, sentinels(1, "v-0", "v-0", "v-0")), "primary Named"},
		"cold: Sentinels that may only repeat":          {look(hint("v-0"), data(onA(9)), complete, was, named), "wait AwaitMembers"},
		"cold: a stale hint (C7), Sentinel":             {look(hint("v-0"), data(onA(9)), complete, was, named, deciding("v-1", "v-0", SourceHint, holding(onB(5))), deciding("v-2", "v-0", SourceHint)), "wait OlderThanPeer"},
		"cold: a stale hint, the peer is up by now":     {look(hint("v-0"), data(onA(9)), complete, was, named, replica("v-1", "v-0", onB(5)), deciding("v-2", "v-0", SourceHint)), "wait OlderThanPeer +failover v-1"},
		"cold: a stale hint, the best is not up yet":    {look(hint("v-0"), data(onA(9)), complete, was, named, replica("v-1", "v-0", onB(5)), deciding("v-2", "v-0", SourceHint, holding(onB(7)))), "wait OlderThanPeer"},
		"cold: a stale hint, the best does not come up": {look(hint("v-0"), data(onA(9)), complete, record(isReplica, "v-9", 1), named, replica("v-1", "v-0", onB(5)), deciding("v-2", "v-0", SourceHint, holding(onB(7))), after(59*time.Second)), "wait OlderThanPeer"},
		"cold: a stale hint, None":                      {look(hint("v-0"), data(onA(9)), complete, was, deciding("v-1", "v-0", SourceHint, holding(onB(5))), deciding("v-2", "v-0", SourceHint)), "wait OlderThanPeer"},
		"cold: then one peer runs":                      {look(hint("v-0"), data(onA(9)), complete, was, replica("v-1", "v-0", onB(5)), deciding("v-2", "v-0", SourceHint)), "wait OlderThanPeer"},
		"cold: then all run":                            {look(hint("v-0"), data(onA(9)), complete, was, replica("v-1", "v-0", onB(5)), replica("v-2", "v-0", onB(4))), "wait OlderThanPeer +promote v-1"},
		"cold: or one does not, for long":               {look(hint("v-0"), data(onA(9)), complete, was, replica("v-1", "v-0", onB(5)), deciding("v-2", "v-0", SourceHint), after(31*time.Second)), "wait OlderThanPeer +promote v-1"},
		"an empty primary that somebody started":        {look(hint("v-0"), data(onA(9)), complete, was, primary("v-1", stranger(1)), emptied("v-1"), deciding("v-2", "", "")), "primary Named"},
		"without name resolution":                       {look(hint("v-0"), data(onA(9)), complete, was, sight("v-1", Blind), sight("v-2", Blind), after(40*time.Second)), "primary Named"},
		"nothing is known of the data":                  {look(hint("v-0"), data(Position{}), alive), "primary Named"},
		"Sentinels start later: waits":                  {look(hint("v-0"), data(onA(9)), complete, was, alive, sentinels(0, "-", "-", "-")), "wait AwaitSentinels"},
		"Sentinels never answer":                        {look(hint("v-0"), data(onA(9)), complete, was, alive, sentinels(0, "-", "-", "-"), after(11*time.Second)), "primary Named"},
		"Sentinels answer, but know nothing of it yet":  {look(hint("v-0"), data(onA(9)), complete, was, alive, sentinels(0, "", "", "")), "primary Named"},
	})
}

func TestReplica(t *testing.T) {
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"the primary is loading":                     {look(hint("v-1"), data(onA(5)), primary("v-1", Position{}), loading("v-1")), "replica of v-1 Follow"},
		"the primary was flushed":                    {look(hint("v-1"), data(onA(5)), primary("v-1", onB(99)), emptied("v-1"), peer("v-1", func(p *Peer) { p.Agent = &Agent{Position: onB(99)} })), "replica of v-1 Follow"},
		"the primary is empty and a stranger":        {look(hint("v-1"), data(onA(5)), primary("v-1", stranger(99)), emptied("v-1"), after(time.Hour)), "wait PrimaryIsEmpty"},
		"the primary is empty, and so is this node":  {look(hint("v-1"), primary("v-1", stranger(99)), emptied("v-1")), "replica of v-1 Follow"},
		"cold: the primary is not there yet":         {look(hint("v-1"), data(onA(5)), deciding("v-2", "v-1", SourceHint)), "wait AwaitPrimary"},
		"cold: the primary never comes (C2)":         {look(hint("v-1"), data(onA(5)), deciding("v-2", "v-1", SourceHint), after(31*time.Second)), "replica of v-1 Follow"},
		"cold: the primary is deciding":              {look(hint("v-1"), data(onA(5)), deciding("v-1", "v-1", SourceHint), after(31*time.Second)), "wait AwaitPrimary"},
		"cold: the primary decides for ever":         {look(hint("v-1"), data(onA(5)), deciding("v-1", "v-1", SourceHint), after(2*time.Minute)), "replica of v-1 Follow"},
		"cold: the primary stands back":              {look(hint("v-1"), data(onB(5)), deciding("v-1", "v-1", SourceHint, standingBack)), "replica of v-1 Follow"},
		"the primary is away and a peer runs":        {look(hint("v-1"), data(onA(5)), replica("v-2", "v-1", onA(9))), "replica of v-1 Follow"},
		"the primary is starting, empty, a stranger": {look(hint("v-1"), data(onA(5)), deciding("v-1", "v-1", SourceHint, starting("v-1"))), "wait PrimaryIsEmpty"},
		"the Sentinels' primary follows this node, for too long": {
			look(sentinels(2, "v-1", "v-1", "v-1"), replica("v-1", "v-0", onA(5)), after(31*time.Second)), "replica of v-1 Follow",
		},
	})
}

// Two nodes that see different things must not wait for each other.
func TestDisputesAmongDecidingNodes(t *testing.T) {
	run(t, map[string]struct {
		in   Input
		want string
	}{
		"a peer heard the Sentinels, this node did not": {
			look(hint("v-1"), data(onA(5)), complete, record(isReplica, "v-1", 5), deciding("v-1", "v-0", SourceSentinelsUnconfirmed), deciding("v-2", "v-1", SourceHint)), "primary Named",
		},
		"and the peer itself": {
			look(as("v-1"), hint("v-1"), sentinels(0, "v-0", "v-0", "v-0"), deciding("v-0", "v-1", SourceHint)), "wait AwaitPrimary",
		},
		"hints of different age, the newer data wins: here": {
			look(hint("v-1"), data(onB(5)), deciding("v-1", "v-1", SourceHint, holding(onA(9))), deciding("v-2", "v-0", SourceHint)), "primary Named",
		},
		"hints of different age, the newer data wins: there": {
			look(as("v-1"), hint("v-1"), data(onA(9)), deciding("v-0", "v-1", SourceHint, holding(onB(5))), deciding("v-2", "v-0", SourceHint)), "wait AwaitPrimary",
		},
		"records that contradict each other": {
			look(record(isPrimary, "", 5), data(onA(9)), deciding("v-1", "v-1", SourceRecord, holding(onB(5))), deciding("v-2", "v-1", SourceRecord)), "wait AwaitPrimary",
		},
		"a peer names nobody": {look(hint("v-1"), data(onA(5)), deciding("v-1", "", SourceNone)), "wait AwaitPrimary"},
		"a running node's old word does not count": {
			look(hint("v-1"), data(onA(5)), replica("v-2", "v-1", onA(5)), deciding("v-2", "v-0", SourceSentinels)), "replica of v-1 Follow",
		},
	})
}
