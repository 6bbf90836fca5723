// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"strings"
	"time"
)

// Mode says how a failover is carried out.
type Mode string

// The modes. Coordinated loses no acknowledged write: writes are paused until the target has them all. Forced promotes at once;
// what the target lacks is lost.
const (
	Coordinated Mode = "Coordinated"
	Forced      Mode = "Forced"
)

// Request is what is asked for.
type Request struct {
	// To is the member that shall become primary. Empty: the best there is.
	To string
	// Mode defaults to Coordinated.
	Mode Mode
	// Monitor is the monitor's name where Sentinels have the say (mode Sentinel). Empty: nobody has it (modes Operator and
	// None), and the change is made on the data members themselves.
	Monitor string
	// PingPeriod and LinkTimeout are the servers' repl-ping-replica-period and repl-timeout. Default 10 s and 60 s, as the servers'.
	PingPeriod, LinkTimeout time.Duration
}

// Reason is why a request is refused.
type Reason string

// The reasons.
const (
	ReasonInFlight      Reason = "FailoverInFlight"
	ReasonDisputed      Reason = "TopologyDisputed"
	ReasonNoPrimary     Reason = "NoPrimary"
	ReasonUnknownTarget Reason = "NotAMember"
	ReasonIsPrimary     Reason = "IsPrimary"
	ReasonTarget        Reason = "TargetNotFit"
	ReasonNoTarget      Reason = "NoFitReplica"
	ReasonDataLoss      Reason = "EmptyWhilePeersHoldData"
	ReasonNoSentinel    Reason = "NoSentinel"
	ReasonNoQuorum      Reason = "NoQuorum"
)

// Cause is one reason with an explanation for people.
type Cause struct {
	Reason Reason
	Text   string
	// Temporary: the same request may be granted later without anybody changing anything.
	Temporary bool
}

// Decision is the answer of CheckFailover.
type Decision struct {
	// From and To are who is and who will be primary. From is empty if nobody is known to be.
	From, To string
	// Losing names members that hold something that To is not known to have; only a forced failover goes on with any.
	Losing []string
	// Causes why it must not be done; empty when it may.
	Causes []Cause
}

// OK tells whether it may be done.
func (d Decision) OK() bool { return len(d.Causes) == 0 }

// Refused is the error of a request that must not be carried out; nothing has been changed.
type Refused struct{ Causes []Cause }

func (r *Refused) Error() string {
	texts := make([]string, 0, len(r.Causes))
	for _, cause := range r.Causes {
		texts = append(texts, fmt.Sprintf("%s: %s", cause.Reason, cause.Text))
	}
	return "failover refused: " + strings.Join(texts, "; ")
}

// Temporary tells whether all causes are.
func (r *Refused) Temporary() bool {
	for _, cause := range r.Causes {
		if !cause.Temporary {
			return false
		}
	}
	return true
}

// Phase is how a failover ended.
type Phase string

// The phases. Failed: what was begun has been undone, as far as everybody could be reached. InProgress: it could not be seen to
// end in time, and goes on by itself.
const (
	Succeeded  Phase = "Succeeded"
	InProgress Phase = "InProgress"
	Failed     Phase = "Failed"
)

// Result is what was done.
type Result struct {
	From, To string
	// Coordinated: writes were paused and the target had all of them when it was promoted.
	Coordinated bool
	Phase       Phase
	StartedAt   time.Time
	// Duration from the start to the new primary's first answer as primary.
	Duration time.Duration
	// Paused is how long writes were held back; zero if they were not, or by the server itself.
	Paused time.Duration
	// Losing is that of the Decision.
	Losing []string
	// Steps in the order in which they ended.
	Steps []Step
}

// Step is one thing that was tried.
type Step struct {
	Name string
	Took time.Duration
	// Err is empty for a step that succeeded.
	Err string
	// Undoes: it put back what an earlier step had changed.
	Undoes bool
	// optional: the failure did not matter.
	optional bool
}

// Undone is what was put back, and what could not be, with the reason.
func (r Result) Undone() (done, left []string) {
	for _, step := range r.Steps {
		switch {
		case !step.Undoes:
		case step.Err == "":
			done = append(done, step.Name)
		default:
			left = append(left, step.Name+": "+step.Err)
		}
	}
	return done, left
}

// Summary is the result in one line, for a status message or an event.
func (r Result) Summary() string {
	if r.Phase == Failed {
		for _, step := range r.Steps {
			if step.Err != "" && !step.optional {
				return fmt.Sprintf("%s to %s failed: %s: %s", r.From, r.To, step.Name, step.Err)
			}
		}
		return fmt.Sprintf("%s to %s not done", r.From, r.To)
	}
	how := "not coordinated"
	if r.Coordinated {
		how = "coordinated"
	}
	return fmt.Sprintf("%s to %s, %s, in %s", r.From, r.To, how, r.Duration.Round(time.Millisecond))
}
