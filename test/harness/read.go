package harness

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

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
