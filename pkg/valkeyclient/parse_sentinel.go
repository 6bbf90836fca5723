// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package valkeyclient

import (
	"strconv"
	"strings"
	"time"
)

// fields is one instance of SENTINEL MASTERS, REPLICAS or SENTINELS. All values are text, numbers included.
type fields map[string]string

func (f fields) number(name string) int64 {
	n, _ := strconv.ParseInt(f[name], 10, 64)
	return n
}

func (f fields) milliseconds(name string) time.Duration {
	return time.Duration(f.number(name)) * time.Millisecond
}

func (f fields) flags() Flags {
	if f["flags"] == "" {
		return nil
	}
	return strings.Split(f["flags"], ",")
}

func (f fields) address() Address {
	return Address{Host: f["ip"], Port: int(f.number("port"))}
}

func (f fields) monitor() Monitor {
	return Monitor{
		Name:              f["name"],
		Primary:           f.address(),
		RunID:             f["runid"],
		Flags:             f.flags(),
		FailoverState:     f["failover-state"],
		ConfigEpoch:       f.number("config-epoch"),
		Quorum:            int(f.number("quorum")),
		NumReplicas:       int(f.number("num-slaves")),
		NumOtherSentinels: int(f.number("num-other-sentinels")),
		LastOKPing:        f.milliseconds("last-ok-ping-reply"),
		InfoRefresh:       f.milliseconds("info-refresh"),
		RoleReported:      roleOf(f["role-reported"]),
		DownAfter:         f.milliseconds("down-after-milliseconds"),
		FailoverTimeout:   f.milliseconds("failover-timeout"),
		ParallelSyncs:     int(f.number("parallel-syncs")),
		Fields:            f,
	}
}

func (f fields) replica() MonitoredReplica {
	return MonitoredReplica{
		Address:     f.address(),
		RunID:       f["runid"],
		Flags:       f.flags(),
		InfoRefresh: f.milliseconds("info-refresh"),
		LastOKPing:  f.milliseconds("last-ok-ping-reply"),
		LinkUp:      f["master-link-status"] == "ok",
		Primary:     Address{Host: f["master-host"], Port: int(f.number("master-port"))},
		Priority:    int(f.number("slave-priority")),
		Offset:      f.number("slave-repl-offset"),
		Fields:      f,
	}
}

func (f fields) peer() PeerSentinel {
	return PeerSentinel{
		ID: f["runid"], Address: f.address(), Flags: f.flags(), LastOKPing: f.milliseconds("last-ok-ping-reply"), Fields: f,
	}
}

// parsePrimaryAddr reads SENTINEL GET-MASTER-ADDR-BY-NAME: [host, port], or nil when the name is unknown.
func parsePrimaryAddr(reply any) (Address, error) {
	list, err := asList(reply)
	switch {
	case err != nil:
		return Address{}, err
	case list == nil:
		return Address{}, ErrNoSuchMonitor
	case len(list) != 2:
		return Address{}, unexpected("host and port", reply)
	}
	return addressOf(list[0], list[1])
}

// parseQuorum reads the text of CKQUORUM: "OK 3 usable Sentinels. ..." or "NOQUORUM 1 usable Sentinels. ...".
func parseQuorum(text string) QuorumCheck {
	check := QuorumCheck{OK: strings.HasPrefix(text, "OK"), Usable: -1, Message: redact(text, nil)}
	words := strings.Fields(text)
	if len(words) > 1 {
		if n, err := strconv.Atoi(words[1]); err == nil && n >= 0 {
			check.Usable = n
		}
	}
	return check
}

// parseEvent reads what a Sentinel publishes: for EventSwitch "name oldhost oldport newhost newport", else
// "type instance-name host port [@ monitor host port] [text]", where a primary's instance name is the
// monitor's. Texts of another form leave all but Kind and Text empty.
func parseEvent(channel, text string) Event {
	event := Event{Kind: EventKind(channel), Text: text}
	words := strings.Fields(text)
	if event.Kind == EventSwitch {
		if len(words) == 5 {
			event.Monitor = words[0]
			event.Old, event.New = addressOfWords(words[1], words[2]), addressOfWords(words[3], words[4])
			event.Address = event.New
		}
		return event
	}
	if len(words) < 4 {
		return event
	}
	switch words[0] {
	case "master":
		event.Monitor = words[1]
	case "slave", "sentinel":
		if len(words) < 8 || words[4] != "@" {
			return event
		}
		event.Monitor = words[5]
	default:
		return event
	}
	event.Instance, event.Address = words[0], addressOfWords(words[2], words[3])
	return event
}

func addressOfWords(host, port string) Address {
	n, _ := strconv.Atoi(port)
	return Address{Host: host, Port: n}
}
