package client

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/datafile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/flags"
)

// Pages of the key space: as many keys as fit comfortably into a message.
const (
	firstPage = 64
	mostKeys  = 1000
	pageBytes = 2 * flags.Mebibyte
)

// Fingerprint implements engine.Session: of one revision, the one that the
// member has now, page by page and from that member alone. It equals that of
// a snapshot with the same keys; keys with a lease don't count, see digest.
func (s *Session) Fingerprint(ctx context.Context, member string) (engine.Fingerprint, error) {
	var found engine.Fingerprint
	var failed error
	err := s.With(member, func(c *Connection) bool {
		found, failed = fingerprint(ctx, c.Client)
		return failed == nil
	})
	if err == nil {
		err = fault(ctx, failed)
	}
	if err != nil {
		return engine.Fingerprint{}, fmt.Errorf("read the keys of member %s: %w", member, err)
	}
	return found, nil
}

func fingerprint(ctx context.Context, kv clientv3.KV) (engine.Fingerprint, error) {
	sum := datafile.NewDigest()
	key, limit, revision := "\x00", int64(firstPage), int64(0)
	for {
		page, err := kv.Get(ctx, key, clientv3.WithFromKey(), clientv3.WithSerializable(),
			clientv3.WithLimit(limit), clientv3.WithRev(revision))
		if TooLong(err) && limit > 1 {
			limit /= 2
			continue
		}
		if err != nil {
			return engine.Fingerprint{}, err
		}
		if revision == 0 {
			revision = page.Header.GetRevision()
		}
		bytes := 0
		for _, pair := range page.Kvs {
			bytes += len(pair.Key) + len(pair.Value)
			if pair.Lease == 0 {
				sum.Add(pair.Key, pair.Value)
			}
		}
		if !page.More || len(page.Kvs) == 0 {
			return sum.Fingerprint(revision), nil
		}
		key = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
		limit = nextLimit(limit, bytes)
	}
}

// nextLimit doubles a small page and halves a large one.
func nextLimit(limit int64, bytes int) int64 {
	switch {
	case bytes > pageBytes:
		return max(1, limit/2)
	case bytes < pageBytes/2:
		return min(mostKeys, limit*2)
	default:
		return limit
	}
}
