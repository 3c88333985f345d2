//go:build linux

package postgres

import (
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// archivedLog knows how far the archive has the log without a gap, as far as this run of the agent has seen it.
type archivedLog struct {
	// sent are files that the archive read from here and did not confirm yet, with the time of their last commit.
	sent map[string]time.Time
	// until is the time of the last commit that the archive has, on a timeline.
	until    time.Time
	timeline uint64
}

// mostSent bounds what is remembered of files that nobody confirms.
const mostSent = 1024

// noteSent remembers a file that is read for the archive.
func (s *Server) noteSent(name string, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.archivedLog.sent == nil || len(s.archivedLog.sent) >= mostSent {
		s.archivedLog.sent = map[string]time.Time{}
	}
	s.archivedLog.sent[name] = last
}

// noteArchived remembers that the archive has a file. It counts if the archive has every file before it: then each
// commit up to its last one can be restored. ready are the files that the server has not let go, in order; it takes a
// moment to let go one that is marked.
func (s *Server) noteArchived(name string, ready []string) {
	for _, earlier := range ready {
		if earlier >= name {
			break
		}
		if _, _, segment := datadir.SegmentOf(earlier); !segment {
			continue
		}
		if _, err := os.Stat(filepath.Join(s.archived(), earlier)); err != nil {
			return
		}
	}
	timeline, _, segment := datadir.SegmentOf(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.archivedLog
	last, known := a.sent[name]
	delete(a.sent, name)
	if !segment || !known || last.IsZero() {
		return
	}
	if timeline != a.timeline || last.After(a.until) {
		a.until, a.timeline = last, timeline
	}
}

// tellArchived tells how far the archive has the log, of the timeline that this server is on.
func (s *Server) tellArchived(m *api.Measures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.archivedLog; a.timeline == s.identity.Lineage.Timeline {
		m.ArchivedUntil = a.until
	}
}
