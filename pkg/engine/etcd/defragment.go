package etcd

import (
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/etcd/client"
)

var _ engine.Rewriter = (*Engine)(nil)

// RewriteRoom implements engine.Rewriter: the pages in use, which the copy
// fills to nine tenths, and two files of the log, of which one is allocated
// ahead and the other started while the copy is written.
func (*Engine) RewriteRoom(m engine.Member) int64 {
	used := m.UsedBytes
	if used == 0 {
		used = m.DataBytes
	}
	return used/client.PageFill*10 + 2*client.Segment
}

// RewriteLeftovers implements engine.Rewriter. etcd deletes them when it searches
// for snapshots at its start (server/etcdserver/api/snap, cleanupSnapdir).
func (*Engine) RewriteLeftovers() string { return "member/snap/db.tmp.*" }
