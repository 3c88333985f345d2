package harness

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// SameData asks every member that is up for the hash of its data at one
// revision, and complains if they differ.
func SameData(ctx context.Context, client *Etcd) error {
	now, err := client.KV.Get(ctx, "\x00", clientv3.WithCountOnly())
	if err != nil {
		return fmt.Errorf("ask for the revision: %w", err)
	}
	hashes := map[uint32][]string{}
	for _, endpoint := range client.KV.Endpoints() {
		h, err := client.KV.HashKV(ctx, endpoint, now.Header.Revision)
		if err != nil {
			return fmt.Errorf("ask %s for the hash of its data: %w", endpoint, err)
		}
		hashes[h.Hash] = append(hashes[h.Hash], endpoint)
	}
	if len(hashes) != 1 {
		return fmt.Errorf("at revision %d the members' data differ: %v", now.Header.Revision, hashes)
	}
	return nil
}

// page is how many keys are read at once.
const page = 1000

// ReadAll reads every key below prefix at one revision.
func ReadAll(ctx context.Context, client *Etcd, prefix string) (map[string]string, error) {
	out := map[string]string{}
	from, revision := prefix, int64(0)
	end := clientv3.GetPrefixRangeEnd(prefix)
	if prefix == "" {
		from, end = "\x00", "\x00"
	}
	for {
		var r *clientv3.GetResponse
		err := repeated(ctx, fmt.Sprintf("keys from %q to be read", from), func(ctx context.Context) (err error) {
			r, err = client.KV.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(page), clientv3.WithRev(revision))
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, kv := range r.Kvs {
			out[string(kv.Key)] = string(kv.Value)
			from = string(kv.Key) + "\x00"
		}
		if revision == 0 {
			revision = r.Header.Revision
		}
		if !r.More {
			return out, nil
		}
	}
}
