//go:build linux

package logfiles

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// TestArchivedUntil: the last commit of a file counts once the archive has that file and all before it.
func TestArchivedUntil(t *testing.T) {
	t.Parallel()
	f, timeline := &Files{Server: local.Server{Sockets: t.TempDir()}}, uint64(1)
	if err := f.Reset(); err != nil {
		t.Fatal(err)
	}
	at := func(second int) time.Time { return time.Date(2026, 11, 28, 21, 34, second, 0, time.UTC) }
	says := func(what string, want time.Time) {
		t.Helper()
		if got := f.Until(timeline); !got.Equal(want) {
			t.Errorf("%s: archived until %s, want %s", what, got, want)
		}
	}
	segment := datadir.SegmentName
	first, second, third, fourth := segment(1, 1), segment(1, 2), segment(1, 3), segment(1, 4)
	confirm := func(name string, ready ...string) {
		t.Helper()
		if err := f.mark(name); err != nil {
			t.Fatal(err)
		}
		f.noteArchived(name, ready)
	}
	says("nothing is known", time.Time{})
	for i, name := range []string{first, second, third} {
		f.noteSent(name, at(i))
	}
	says("nothing is confirmed", time.Time{})
	confirm(second, first, second, third)
	says("the first one waits", time.Time{})
	confirm(first, first, second, third)
	says("the first one", at(0))
	confirm(third, second, third)
	says("those before it are marked", at(2))
	confirm(fourth, fourth)
	says("one that was read from another member", at(2))
	f.noteSent(fourth, time.Time{})
	confirm(fourth, fourth)
	says("one without a commit", at(2))
	timeline = 2
	says("on another timeline", time.Time{})
	f.noteSent(segment(2, 4), at(1))
	confirm(segment(2, 4), segment(2, 4))
	says("the first of that timeline", at(1))
}
