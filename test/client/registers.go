// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
)

// Few registers with several clients each, and no more operations than can be judged in seconds.
const (
	registerCount   = 3
	registerClients = 2 * registerCount
	registerPause   = 10 * time.Millisecond
	registerMost    = 4000
	judgeWithin     = 20 * time.Second
)

// history is what the clients of the registers did and saw. Every operation puts a value that was never used before and answers the one that it
// replaces: a write that says what it was written over. So a write that is lost, done twice or done by two primaries shows.
type history struct {
	sync.Mutex
	prefix     string
	begin      time.Time
	operations []porcupine.Operation
}

type swap struct{ register, value string }

// replaced is the value that a swap answered; unknown where there was no answer, and it may have been carried out or not.
type replaced struct {
	value   string
	unknown bool
}

func newHistory(prefix string) *history { return &history{prefix: prefix, begin: time.Now()} }

func (h *history) swap(ctx context.Context, client *redis.Client, number int, timeout time.Duration) {
	tick := time.NewTicker(registerPause)
	defer tick.Stop()
	register := fmt.Sprintf("%s:register:%d", h.prefix, number%registerCount)
	for n := 0; n < registerMost/registerClients; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		value := fmt.Sprintf("%d-%d", number, n)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		began := time.Since(h.begin)
		old, err := client.SetArgs(call, register, value, redis.SetArgs{Get: true}).Result()
		ended := time.Since(h.begin)
		cancel()
		if errors.Is(err, redis.Nil) {
			old, err = "", nil
		}
		h.note(number, swap{register, value}, old, err, began, ended)
	}
}

func (h *history) note(client int, in swap, old string, err error, began, ended time.Duration) {
	out := replaced{value: old}
	end := ended.Nanoseconds()
	switch {
	case err != nil && certainlyNotDone(err):
		return
	case err != nil: // it may be carried out at any time from now on
		out, end = replaced{unknown: true}, math.MaxInt64
	}
	h.Lock()
	defer h.Unlock()
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: began.Nanoseconds(), Return: end})
}

// certainlyNotDone tells whether an error says that the command was not carried out: the server refused it, or was never reached.
func certainlyNotDone(err error) bool {
	var refused redis.Error
	if errors.As(err, &refused) {
		return true
	}
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial" || strings.Contains(err.Error(), "all sentinels specified in configuration are unreachable")
}

// judge is whether there is an order of all operations in which each happens between its call and its answer.
func (h *history) judge() string {
	switch porcupine.CheckOperationsTimeout(registerModel(), h.operations, judgeWithin) {
	case porcupine.Ok:
		return "linearizable"
	case porcupine.Illegal:
		h.explain()
		return "violated"
	}
	return "undecided"
}

func registerModel() porcupine.Model {
	return porcupine.Model{
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			byRegister := map[string][]porcupine.Operation{}
			for _, o := range all {
				register := o.Input.(swap).register
				byRegister[register] = append(byRegister[register], o)
			}
			parts := make([][]porcupine.Operation, 0, len(byRegister))
			for _, part := range byRegister {
				parts = append(parts, part)
			}
			return parts
		},
		Init: func() any { return "" },
		Step: func(state, input, output any) (bool, any) {
			answered := output.(replaced)
			return answered.unknown || answered.value == state.(string), input.(swap).value
		},
	}
}

// explain prints the operations whose answer nobody had written, or that two have answered: where to begin to look.
func (h *history) explain() {
	answeredBy := map[string]string{}
	for _, o := range h.operations {
		in, out := o.Input.(swap), o.Output.(replaced)
		if out.unknown {
			continue
		}
		key := in.register + "=" + out.value
		if other, twice := answeredBy[key]; twice {
			fmt.Fprintf(os.Stderr, "%s was replaced by %s and by %s, at %s\n", key, other, in.value, h.begin.Add(time.Duration(o.Call)).Format("15:04:05.000"))
		}
		answeredBy[key] = in.value
	}
}
