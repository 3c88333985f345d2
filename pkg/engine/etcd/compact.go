package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

var (
	_ engine.CompactionRules = (*Engine)(nil)
	_ engine.Compactor       = (*session)(nil)
)

// CompactRevision implements engine.Compactor. The present revision is the highest
// that a member of the one cluster has applied.
func (*Engine) CompactRevision(v engine.View, revision, keep int64) (int64, error) {
	var head int64
	for _, m := range v.Members {
		if p, ok := parsePosition(m.Position); ok && m.Reachable {
			head = max(head, p.revision)
		}
	}
	if revision > head && head > 0 {
		return 0, refuse("revision", "choose one up to the present, or say how many to keep: --keep-revisions",
			"revision %d is still to come: the cluster is at %d", revision, head)
	}
	if revision > 0 {
		return revision, nil
	}
	// What was there from the beginning is the empty revision 1.
	if before := head - keep; before > 1 {
		return before, nil
	}
	return 0, nil
}

// CompactImpact implements engine.Compactor.
func (*Engine) CompactImpact(before int64) string {
	return fmt.Sprintf("every key keeps its value; who reads, or watches from, a revision before %d is told that it was compacted, and must read anew", before)
}

// Compact implements engine.Compactor. Compaction is one request to the whole
// cluster, but a physical one is waited for by the member that is asked only:
// so each is asked. All but one answer that the revision is compacted already,
// after what they had begun is done (kvstore.go, compactBarrier).
func (s *session) Compact(ctx context.Context, members []string, before int64) error {
	g, bounded := errgroup.WithContext(ctx)
	for _, member := range members {
		g.Go(func() error {
			var failed error
			err := s.with(member, func(c *connection) bool {
				_, failed = c.client.Compact(bounded, before, clientv3.WithCompactPhysical())
				if errors.Is(rpctypes.Error(failed), rpctypes.ErrCompacted) {
					failed = nil
				}
				return failed == nil
			})
			if err == nil {
				err = fault(bounded, failed)
			}
			if err != nil {
				return fmt.Errorf("compact member %s: %w", member, err)
			}
			return nil
		})
	}
	return g.Wait()
}
