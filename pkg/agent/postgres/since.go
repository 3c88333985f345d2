//go:build linux

package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
)

// tellSince tells since when a primary leads. Its promotion wrote the history of its timeline, and nothing writes that
// again: so it is known after a restart of the agent, too.
func (s *Server) tellSince(m *api.Measures) {
	s.mu.Lock()
	leads, timeline := s.ready, s.identity.Lineage.Timeline
	s.mu.Unlock()
	if !leads {
		return
	}
	info, err := os.Stat(filepath.Join(s.pgdata(), "pg_wal", fmt.Sprintf("%08X.history", timeline)))
	if err != nil {
		m.Miss("since when it leads", err)
		return
	}
	m.Details = append(m.Details,
		api.Reading{Name: "primary since", Value: info.ModTime().UTC().Format(time.RFC3339)})
}
