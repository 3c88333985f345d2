package client

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
)

// Compact implements engine.Compactor. Compaction is one request to the whole
// cluster, but a physical one is waited for by the member that is asked only:
// so each is asked. All but one answer that the revision is compacted already,
// after what they had started is done (kvstore.go, compactBarrier).
func (s *Session) Compact(ctx context.Context, members []string, before int64) error {
	g, bounded := errgroup.WithContext(ctx)
	for _, member := range members {
		g.Go(func() error {
			var failed error
			err := s.With(member, func(c *Connection) bool {
				_, failed = c.Client.Compact(bounded, before, clientv3.WithCompactPhysical())
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
