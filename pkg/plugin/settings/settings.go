// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"strings"

	"github.com/valkeykube/valkeykube/pkg/apis/valkey/v1alpha1"
	"github.com/valkeykube/valkeykube/pkg/naming"
	"github.com/valkeykube/valkeykube/pkg/plugin/credential"
)

// DefaultClusterDomain is the DNS domain of clusters that name none.
const DefaultClusterDomain = "cluster.local"

// Address is a host and a port.
type Address struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

// String is host:port.
func (a Address) String() string { return fmt.Sprintf("%s:%d", a.Host, a.Port) }

// Settings are all there is to say. Password is empty unless somebody asked to see it.
type Settings struct {
	// Write leads to the primary, Read to the replicas.
	Write Address `json:"write"`
	Read  Address `json:"read"`
	// Nodes are the members, for clients that are given all of them.
	Nodes []Address `json:"nodes"`
	// Sentinels and Monitor are how Sentinel clients find the primary; empty without Sentinels.
	Sentinels []Address `json:"sentinels,omitempty"`
	Monitor   string    `json:"monitor,omitempty"`
	// User to log in as on the data nodes; empty where nobody need log in. Secret and Key are where its password is.
	User   string `json:"user,omitempty"`
	Secret string `json:"secret,omitempty"`
	Key    string `json:"key,omitempty"`
	// SentinelUser, SentinelSecret and SentinelKey are the same on the Sentinels.
	SentinelUser   string `json:"sentinelUser,omitempty"`
	SentinelSecret string `json:"sentinelSecret,omitempty"`
	SentinelKey    string `json:"sentinelKey,omitempty"`
	// TLS is nil where nobody speaks it.
	TLS *TLS `json:"tls,omitempty"`
	// Password and SentinelPassword are only here where they are to be shown.
	Password         string `json:"password,omitempty"`
	SentinelPassword string `json:"sentinelPassword,omitempty"`
}

// Of are the settings of a Valkey. set is the ValkeySentinel that monitors it, nil without; domain the cluster's DNS domain.
func Of(valkey *v1alpha1.Valkey, set *v1alpha1.ValkeySentinel, account credential.Account, domain string) Settings {
	service := func(name string) Address {
		return Address{name + "." + valkey.Namespace + ".svc." + domain, naming.PortValkey}
	}
	s := Settings{Write: service(naming.PrimaryService(valkey.Name)), Read: service(naming.ReplicasService(valkey.Name))}
	for i := range int(valkey.Spec.Replicas) + 1 {
		s.Nodes = append(s.Nodes, Address{naming.NodeHost(naming.NodeName(valkey.Name, i), valkey.Namespace, domain), naming.PortValkey})
	}
	s.User, s.Secret, s.Key = login(account)
	if set != nil && valkey.Spec.Failover.Mode == v1alpha1.FailoverModeSentinel {
		s.askSentinels(valkey, set, domain)
	}
	s.TLS = tlsOf(valkey, set, s)
	return s
}

// askSentinels adds how Sentinel clients find the primary.
func (s *Settings) askSentinels(valkey *v1alpha1.Valkey, set *v1alpha1.ValkeySentinel, domain string) {
	s.Monitor = v1alpha1.EffectiveMonitorName(valkey)
	for i := range int(set.Spec.Replicas) {
		s.Sentinels = append(s.Sentinels, Address{naming.SentinelHost(set.Name, i, valkey.Namespace, domain), naming.PortSentinel})
	}
	if account, ok := credential.Preferred(credential.OfSentinel(set, false)); ok {
		s.SentinelUser, s.SentinelSecret, s.SentinelKey = login(account)
	}
}

// login leaves all empty for the default user without a password: whoever connects is logged in as it.
func login(account credential.Account) (user, secret, key string) {
	if account.Secret == "" {
		if account.User == "default" {
			return "", "", ""
		}
		return account.User, "", ""
	}
	if len(account.Keys) > 0 {
		key = account.Keys[0]
	}
	return account.User, account.Secret, key
}

// DomainOf is the cluster's DNS domain, as the address of the primary on record shows it.
func DomainOf(valkey *v1alpha1.Valkey) string {
	_, behind, found := strings.Cut(valkey.Status.PrimaryAddress, "."+valkey.Namespace+".svc.")
	if domain, _, _ := strings.Cut(behind, ":"); found && domain != "" {
		return domain
	}
	return DefaultClusterDomain
}
