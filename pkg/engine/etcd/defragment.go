package etcd

import (
	"context"
	"fmt"
	"strings"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
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
	// segment is the size of a file of the log, which is allocated as a whole.
	segment = 64 << 20
	// pageFill is how full the copy's pages are, of 10 (bbolt's FillPercent for
	// a defragmentation is 0.9).
	pageFill = 9
)

var _ engine.Rewriter = (*Engine)(nil)

// RewriteRoom implements engine.Rewriter: the pages in use, which the copy
// fills to nine tenths, and two files of the log, of which one is allocated
// ahead and the other begun while the copy is written.
func (*Engine) RewriteRoom(m engine.Member) int64 {
	used := m.UsedBytes
	if used == 0 {
		used = m.DataBytes
	}
	return used/pageFill*10 + 2*segment
}

// RewriteLeftovers implements engine.Rewriter. etcd deletes them when it looks
// for snapshots at its start (server/etcdserver/api/snap, cleanupSnapdir).
func (*Engine) RewriteLeftovers() string { return "member/snap/db.tmp.*" }
