//go:build linux

package postgres

import (
	"context"
	"fmt"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// advance has the log of a primary go on in the file after the one in which its timeline began, unless it does already.
// A new timeline takes over the number of that file, and the server keeps every file of a number, of all timelines,
// until the log is wal_keep_size beyond it (RemoveOldXlogFiles in PostgreSQL's xlog.c). So without this each failover
// of a cluster that hardly writes would leave one more file for days, until the volume is full.
func (s *Server) advance(ctx context.Context, conn *local.Session) error {
	s.mu.Lock()
	past := s.identity.Lineage
	s.mu.Unlock()
	if len(past.Forks) == 0 {
		return nil
	}
	fork := past.Forks[len(past.Forks)-1].End
	next := (fork/datadir.SegmentSize + 1) * datadir.SegmentSize
	_, err := conn.Ask(ctx, fmt.Sprintf("SELECT pg_switch_wal() WHERE pg_current_wal_insert_lsn() < '%s'", next))
	return err
}
