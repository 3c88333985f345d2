package harness

import (
	"context"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Registers are the keys of a database that a history reads and writes.
type Registers struct{ Client *Etcd }

// Put writes a key.
func (r Registers) Put(ctx context.Context, key, value string) error {
	_, err := r.Client.KV.Put(ctx, key, value)
	return err
}

// Get reads a key, linearizably.
func (r Registers) Get(ctx context.Context, key string) (string, error) {
	got, err := r.Client.KV.Get(ctx, key, clientv3.WithLimit(1))
	if err != nil || len(got.Kvs) == 0 {
		return "", err
	}
	return string(got.Kvs[0].Value), nil
}
