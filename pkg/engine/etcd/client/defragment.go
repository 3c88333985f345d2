package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// Defragment implements engine.Defragmenter. etcd rewrites its whole data
// file and answers nothing meanwhile, some 5 s for each GiB; the caller sees
// to it that the others carry on (https://etcd.io/docs/v3.6/op-guide/maintenance/).
func (s *Session) Defragment(ctx context.Context, member string) error {
	var failed error
	err := s.With(member, func(c *Connection) bool {
		_, failed = c.Client.Defragment(ctx, c.base)
		return failed == nil
	})
	if err == nil {
		err = fault(ctx, failed)
	}
	if failed != nil && strings.Contains(failed.Error(), diskFull) {
		err = fmt.Errorf("%w: %s", engine.ErrNoSpace, plain(failed))
	}
	if err != nil {
		return fmt.Errorf("defragment member %s: %w", member, err)
	}
	return nil
}

const (
	// diskFull is how etcd passes on what the operating system said.
	diskFull = "no space left on device"
	// Segment is the size of a file of the log, which is allocated as a whole.
	Segment = 64 << 20
	// PageFill is how full the copy's pages are, of 10 (bbolt's FillPercent for
	// a defragmentation is 0.9).
	PageFill = 9
)
