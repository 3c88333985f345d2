package etcd

import (
	"context"
	"fmt"
)

// Defragment implements engine.Defragmenter. etcd rewrites its whole data
// file and answers nothing meanwhile, some 5 s for each GiB; the caller sees
// to it that the others carry on (https://etcd.io/docs/v3.6/op-guide/maintenance/).
func (s *session) Defragment(ctx context.Context, member string) error {
	var failed error
	err := s.with(member, func(c *connection) bool {
		_, failed = c.client.Defragment(ctx, c.base)
		return failed == nil
	})
	if err == nil {
		err = fault(ctx, failed)
	}
	if err != nil {
		return fmt.Errorf("defragment member %s: %w", member, err)
	}
	return nil
}
