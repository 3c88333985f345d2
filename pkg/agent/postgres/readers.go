//go:build linux

package postgres

import (
	"context"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// readersPause is the time between two questions for readers.
const readersPause = 200 * time.Millisecond

// holding ends transactions of readers if the log waits for one: for a snapshot, a lock or a page. It would wait as
// long as max_standby_streaming_delay says, 30 seconds by default, and meanwhile nobody takes writes
// (https://www.postgresql.org/docs/current/hot-standby.html, "Handling Query Conflicts").
const holding = `SELECT pg_terminate_backend(r.pid) FROM pg_stat_activity r
WHERE r.backend_type = 'client backend' AND r.xact_start IS NOT NULL AND r.usename <> '` + local.User + `'
AND EXISTS (SELECT 1 FROM pg_stat_activity s WHERE s.backend_type = 'startup'
AND (s.wait_event ~ '^RecoveryConflict' OR s.wait_event_type IN ('BufferPin', 'Lock')))`

// endReaders does so until the context ends. A server that does not answer is asked again.
func (s *Server) endReaders(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(readersPause):
			_, _ = s.Once(ctx, holding)
		}
	}
}
