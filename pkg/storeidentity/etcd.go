// Copyright The valkeykube Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Etcd is a store in etcd; the id is the value of a key of its own.
type Etcd struct {
	kv  clientv3.KV
	key string
}

var _ Store = (*Etcd)(nil)

// NewEtcd is the store below prefix, such as /registry/valkey.io.
func NewEtcd(kv clientv3.KV, prefix string) *Etcd { return &Etcd{kv: kv, key: prefix + "-identity"} }

// Identity is the id in the store; the read is linearizable, so a member that has fallen behind does not answer.
func (e *Etcd) Identity(ctx context.Context) (string, error) {
	got, err := e.kv.Get(ctx, e.key)
	if err != nil || len(got.Kvs) == 0 {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}

// Adopt writes an id where there is none.
func (e *Etcd) Adopt(ctx context.Context, id string) error {
	_, err := e.kv.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(e.key), "=", 0)).
		Then(clientv3.OpPut(e.key, id)).
		Commit()
	return err
}
