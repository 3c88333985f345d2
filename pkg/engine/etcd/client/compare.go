package client

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/positions"
)

// CompareCopies implements engine.Disarmer by the hash that etcd itself
// compares: over all keys from the compacted revision up to one that every
// member has. It is the highest of all, for a member that has lost its last
// writes must not pass for one that has them.
func (s *Session) CompareCopies(ctx context.Context, members []string) ([]engine.Copy, error) {
	var head int64
	for _, m := range s.Observe(ctx, members).Members {
		p, _ := positions.Parse(m.Position)
		head = max(head, p.Revision)
	}
	hashes := make([]*clientv3.HashKVResponse, len(members))
	g, bounded := errgroup.WithContext(ctx)
	for i, member := range members {
		g.Go(func() error {
			var err error
			hashes[i], err = s.hashAt(bounded, member, head)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("compare the members: %w", err)
	}
	out := make([]engine.Copy, len(members))
	for i, h := range hashes {
		if h.CompactRevision != hashes[0].CompactRevision {
			return nil, fmt.Errorf("compare the members: %s keeps history from revision %d on, %s from %d: %w",
				members[0], hashes[0].CompactRevision, members[i], h.CompactRevision, engine.ErrNotReady)
		}
		out[i] = engine.Copy{Member: members[i], Sum: fmt.Sprintf("%08x at revision %d", h.Hash, head)}
	}
	return out, nil
}

// hashAt asks one member for the hash at a revision. One that has not reached
// it yet is waited for, and so is one that has just compacted it.
func (s *Session) hashAt(ctx context.Context, member string, revision int64) (*clientv3.HashKVResponse, error) {
	var hash *clientv3.HashKVResponse
	var failed error
	err := s.With(member, func(c *Connection) bool {
		hash, failed = c.maintenance().HashKV(ctx, c.base, revision)
		return true
	})
	if err == nil {
		known := rpctypes.Error(failed)
		if errors.Is(known, rpctypes.ErrFutureRev) || errors.Is(known, rpctypes.ErrCompacted) {
			return nil, fmt.Errorf("member %s has no revision %d: %w", member, revision, engine.ErrNotReady)
		}
		err = fault(ctx, failed)
	}
	if err != nil {
		return nil, fmt.Errorf("hash the keys of member %s: %w", member, err)
	}
	return hash, nil
}
