// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package naming

import "strings"

// NodeServices are the governing Services of a Valkey's nodes from one index up to and without another.
func NodeServices(valkey string, from, to int) []string {
	var names []string
	for index := from; index < to; index++ {
		names = append(names, NodeWorkload(NodeName(valkey, index)))
	}
	return names
}

// ServiceHolder is a Valkey that would have a Service of a certain name.
type ServiceHolder struct {
	Valkey string
	// Nodes is how many nodes it must have at least; 0 where the Service does not belong to a node.
	Nodes int
}

// ServiceHolders are the Valkeys that would have a Service of this name: names of different objects can lead to one name of a
// child, as those of the Valkeys "a" and "a-0" do.
func ServiceHolders(service string) []ServiceHolder {
	name, ok := strings.CutPrefix(service, nodePrefix)
	if !ok {
		return nil
	}
	holders := []ServiceHolder{{Valkey: name}}
	at := strings.LastIndex(name, "-")
	if at <= 0 {
		return holders
	}
	parent, suffix := name[:at], name[at+1:]
	if suffix == "primary" || suffix == "replicas" {
		return append(holders, ServiceHolder{Valkey: parent})
	}
	if index, is := NodeIndex(parent, name); is && index < MaxReplicas+1 {
		return append(holders, ServiceHolder{Valkey: parent, Nodes: index + 1})
	}
	return holders
}

// ServiceSentinel is the ValkeySentinel that would have a Service of this name, if there can be one.
func ServiceSentinel(service string) (sentinel string, ok bool) {
	sentinel, ok = strings.CutPrefix(service, sentinelPrefix)
	return sentinel, ok && sentinel != ""
}
