package valkey

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

const first, second, third = "1111111111111111", "2222222222222222", "3333333333333333"

// file is one of the archive, whose last mark is at its end in seconds; 0 for none.
func file(history string, start, end uint64, mark int64) engine.LogFile {
	f := engine.LogFile{Timeline: history, Name: logfile.Name{History: history, End: end}.String(),
		Start: logfile.Place(start), End: logfile.Place(end)}
	if mark > 0 {
		f.Time = time.Unix(mark, 0)
	}
	return f
}

func fork(timeline uint64, history string, base int64, parent string, begin uint64) engine.LogFile {
	f := logfile.Fork{Timeline: timeline, History: history, Base: base, Parent: parent, Begin: begin}
	return engine.LogFile{Timeline: logfile.Forks, Name: f.Name(), Start: f.Start(), End: f.End()}
}

func TestLogWindow(t *testing.T) {
	t.Parallel()
	root := fork(2, first, 0, "", 0)
	// The second history counts from 0 again: 300 of the cluster is 0 of its own.
	next := fork(3, second, 300, first, 300)
	for name, c := range map[string]struct {
		start    logfile.Name
		archive  []engine.LogFile
		to       int64
		gap      string
		timeline string
	}{
		"nothing is archived": {start: logfile.Name{History: first, End: 50}, timeline: "0"},
		"a row of files": {start: logfile.Name{History: first, End: 50}, to: 20, timeline: "2",
			archive: []engine.LogFile{root, file(first, 0, 100, 10), file(first, 100, 200, 20)}},
		"no mark after it": {start: logfile.Name{History: first, End: 200}, timeline: "2",
			archive: []engine.LogFile{root, file(first, 0, 100, 10), file(first, 100, 200, 20)}},
		"a file is missing": {start: logfile.Name{History: first, End: 50}, to: 10, timeline: "2",
			gap:     logfile.Name{History: first, End: 100}.String(),
			archive: []engine.LogFile{root, file(first, 0, 100, 10), file(first, 101, 200, 20)}},
		"the backup is before all": {start: logfile.Name{History: first, End: 50}, timeline: "2",
			gap:     logfile.Name{History: first, End: 50}.String(),
			archive: []engine.LogFile{root, file(first, 100, 200, 20)}},
		"over a failover": {start: logfile.Name{History: first, End: 50}, to: 40, timeline: "3",
			archive: []engine.LogFile{next, root, file(first, 0, 200, 20), file(first, 200, 300, 30), file(second, 0, 80, 40)}},
		"what the old primary lost does not count": {start: logfile.Name{History: first, End: 50}, to: 40, timeline: "3",
			archive: []engine.LogFile{next, root, file(first, 0, 200, 20), file(first, 200, 350, 99), file(second, 0, 80, 40)}},
		"the end of the old primary is missing": {start: logfile.Name{History: first, End: 50}, to: 20, timeline: "3",
			gap:     logfile.Name{History: first, End: 200}.String(),
			archive: []engine.LogFile{next, root, file(first, 0, 200, 20), file(second, 0, 80, 40)}},
		"a backup of what was lost": {start: logfile.Name{History: first, End: 320}, timeline: "3",
			gap:     logfile.Name{History: first, End: 320}.String(),
			archive: []engine.LogFile{next, root, file(first, 200, 350, 99), file(second, 0, 80, 40)}},
		"a backup of the newest": {start: logfile.Name{History: second, End: 7}, to: 40, timeline: "3",
			archive: []engine.LogFile{next, root, file(second, 0, 80, 40)}},
		"a history that goes on from none": {start: logfile.Name{History: first, End: 50}, to: 20, timeline: "2",
			gap: logfile.Fork{Timeline: 4, History: third, Base: 900, Begin: 900}.Name(),
			archive: []engine.LogFile{fork(4, third, 900, "", 900), root, file(first, 0, 200, 20),
				file(third, 0, 80, 40)}},
		"a backup of nobody": {start: logfile.Name{History: third, End: 50}, timeline: "0",
			archive: []engine.LogFile{next, root, file(first, 0, 200, 20)}},
		"names of somebody else": {start: logfile.Name{History: first, End: 50}, to: 10, timeline: "2",
			archive: []engine.LogFile{root, file(first, 0, 100, 10), {Name: "000000010000000000000002"}, {Name: "x.fork"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backup := engine.SnapshotFacts{LogStart: &engine.LogStart{Timeline: c.start.History, File: c.start.String()}}
			got := New().LogWindow(backup, c.archive)
			want := engine.LogWindow{Gap: c.gap, Timeline: c.timeline}
			if c.to > 0 {
				want.To = time.Unix(c.to, 0)
			}
			if got != want {
				t.Errorf("it is %+v, want %+v", got, want)
			}
		})
	}
	if got := New().LogWindow(engine.SnapshotFacts{}, nil); got != (engine.LogWindow{}) {
		t.Errorf("a backup that tells no place has the window %+v", got)
	}
}
