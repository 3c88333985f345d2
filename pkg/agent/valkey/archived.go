//go:build linux

package valkey

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// archivedLog is the last stretch of the log that the archive has without a gap, as far as this run of the agent has
// seen it. What a member wrote before that, or lost, only a listing of the archive tells.
type archivedLog struct {
	// since and until are the times of the first and of the last mark in it.
	since, until time.Time
	// end is the offset of the cluster up to which it goes; 0 before anything was archived.
	end uint64
	// early are files that were archived before one that comes first.
	early []archivedPiece
}

// archivedPiece is a file that the archive has, by offsets of the cluster.
type archivedPiece struct {
	from, to uint64
	last     time.Time
}

// pieceOf is false for a file of a history that a copy does not know.
func pieceOf(l datadir.Lineage, f logfile.File) (p archivedPiece, ok bool) {
	for _, b := range l {
		if b.ID != "" && logfile.History(b.ID) == f.History {
			at := func(place uint64) uint64 { return uint64(int64(place) + b.Base) } //nolint:gosec // the log is far shorter
			return archivedPiece{from: at(f.Start), to: at(f.End), last: f.Time}, true
		}
	}
	return p, false
}

// noteArchived remembers that the archive has a file. waited are those that it had not before, with this one.
func (s *Server) noteArchived(name string, waited []logfile.File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, wait := &s.archivedLog, uint64(math.MaxUint64)
	for _, b := range s.identity.Lineage {
		if b.Unsure && a.end <= b.Begin { // nobody knows how it goes on from what was before
			*a = archivedLog{early: a.early}
		}
	}
	for _, f := range waited {
		p, ok := pieceOf(s.identity.Lineage, f)
		switch {
		case !ok:
		case f.String() == name:
			a.early = append(a.early, p)
		default:
			wait = min(wait, p.from)
		}
	}
	slices.SortFunc(a.early, func(x, y archivedPiece) int { return cmp.Compare(x.from, y.from) })
	for len(a.early) > 0 && a.early[0].from < wait {
		a.add(a.early[0])
		a.early = a.early[1:]
	}
}

// add goes on with a file, or begins again behind a gap.
func (a *archivedLog) add(p archivedPiece) {
	if a.end == 0 || p.from > a.end {
		a.since, a.until, a.end = p.last, p.last, p.to
		return
	}
	a.end = max(a.end, p.to)
	if p.last.After(a.until) {
		a.until = p.last
	}
	if a.since.IsZero() {
		a.since = p.last
	}
}

// tellArchived tells how far the archive has the log, once it also knows where each history begins: without that no
// restore goes on from one to the next.
func (s *Server) tellArchived(m *api.Measures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range forksOf(s.identity.Lineage) {
		if !slices.Contains(s.confirmedForks, f.Name()) {
			return
		}
	}
	m.ArchivedUntil, m.ArchivedSince = s.archivedLog.until, s.archivedLog.since
}
