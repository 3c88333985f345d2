//go:build linux

package valkey

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
)

// TestArchivedUntil: the last mark of a file counts once the archive has that file and all before it.
func TestArchivedUntil(t *testing.T) {
	t.Parallel()
	first, second, unsure := strings.Repeat("a", 40), strings.Repeat("b", 40), strings.Repeat("c", 40)
	s := &Server{}
	s.identity.Lineage = datadir.Lineage{{Timeline: 1, ID: first}}
	s.confirmedForks = []string{forksOf(s.identity.Lineage)[0].Name()}
	at := func(second int) time.Time { return time.Date(2026, 11, 28, 21, 34, second, 0, time.UTC) }
	file := func(id string, start, end uint64, second int) logfile.File {
		return logfile.File{Name: logfile.Name{History: logfile.History(id), End: end}, Start: start, Time: at(second)}
	}
	waiting := []logfile.File{}
	confirm := func(f logfile.File) {
		waited := slices.Clone(waiting)
		waiting = slices.DeleteFunc(waiting, func(w logfile.File) bool { return w.Name == f.Name })
		s.noteArchived(f.String(), waited)
	}
	says := func(what string, since, until time.Time) {
		t.Helper()
		var m api.Measures
		if s.tellArchived(&m); !m.ArchivedSince.Equal(since) || !m.ArchivedUntil.Equal(until) {
			t.Errorf("%s: it says %s to %s, want %s to %s", what, m.ArchivedSince, m.ArchivedUntil, since, until)
		}
	}
	one, two, three := file(first, 10, 20, 1), file(first, 20, 30, 2), file(first, 30, 40, 3)
	waiting = append(waiting, one, two, three)
	says("nothing is confirmed", time.Time{}, time.Time{})
	confirm(two)
	says("the first one waits", time.Time{}, time.Time{})
	confirm(one)
	says("both", at(1), at(2))
	confirm(three)
	says("the third", at(1), at(3))

	waiting = append(waiting, file(first, 50, 60, 5))
	confirm(file(first, 50, 60, 5))
	says("behind a gap", at(5), at(5))

	// The next primary counts from 60 of the cluster on, which is 160 of its own.
	s.identity.Lineage = append(s.identity.Lineage, datadir.Branch{Timeline: 2, Begin: 60, ID: second, Base: -100})
	says("where the next history begins is not archived", time.Time{}, time.Time{})
	s.confirmedForks = append(s.confirmedForks, forksOf(s.identity.Lineage)[1].Name())
	waiting = append(waiting, file(second, 160, 170, 6))
	confirm(file(second, 160, 170, 6))
	says("the next history", at(5), at(6))

	s.identity.Lineage = append(s.identity.Lineage, datadir.Branch{Timeline: 3, Begin: 70, ID: unsure, Unsure: true})
	s.confirmedForks = append(s.confirmedForks, forksOf(s.identity.Lineage)[2].Name())
	waiting = append(waiting, file(unsure, 70, 80, 8))
	confirm(file(unsure, 70, 80, 8))
	says("one that goes on from an unknown place", at(8), at(8))

	waiting = append(waiting, file(strings.Repeat("d", 40), 80, 90, 9))
	confirm(file(strings.Repeat("d", 40), 80, 90, 9))
	says("one of a history that was given up", at(8), at(8))
}
