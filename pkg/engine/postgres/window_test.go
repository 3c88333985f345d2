package postgres

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// archived is a file of the log in which the last commit was so many seconds after the beginning.
func archived(timeline, number uint64, seconds int) engine.LogFile {
	at := func(n uint64) string { return fmt.Sprintf("0/%X", n*logFileSize) }
	return engine.LogFile{Timeline: strconv.FormatUint(timeline, 10), Name: logName(timeline, number), Start: at(number),
		End: at(number + 1), Time: moment(seconds)}
}

func history(timeline, before uint64, fork string) engine.LogFile {
	return engine.LogFile{Timeline: historyTimeline, Name: historyName(timeline),
		Start: strconv.FormatUint(before, 10), End: fork}
}

func moment(seconds int) time.Time {
	return time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func TestLogWindow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		from  string
		files []engine.LogFile
		want  engine.LogWindow
	}{
		"nothing is archived": {logName(1, 2), nil, engine.LogWindow{Timeline: "1"}},
		"without a gap": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), archived(1, 3, 30)},
			engine.LogWindow{Timeline: "1", To: moment(30), Start: "0/2000028", End: "0/4000000"}},
		"files of before the backup don't count": {logName(1, 3), []engine.LogFile{archived(1, 1, 10), archived(1, 3, 30)},
			engine.LogWindow{Timeline: "1", To: moment(30), Start: "0/2000028", End: "0/4000000"}},
		"a gap": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), archived(1, 4, 40)},
			engine.LogWindow{Timeline: "1", To: moment(20), Start: "0/2000028", End: "0/3000000",
				Gap: logName(1, 3)}},
		"the first file is missing": {logName(1, 2), []engine.LogFile{archived(1, 3, 30)},
			engine.LogWindow{Timeline: "1", Gap: logName(1, 2)}},
		"over a fork": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), history(3, 1, "0/3000028"), archived(3, 3, 35)},
			engine.LogWindow{Timeline: "3", To: moment(35), Start: "0/2000028", End: "0/4000000"}},
		"what was written after the fork is lost": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), archived(1, 3, 30),
			archived(1, 4, 40), history(2, 1, "0/3000028"), archived(2, 3, 35)},
			engine.LogWindow{Timeline: "2", To: moment(35), Start: "0/2000028", End: "0/4000000"}},
		"the file of the fork is missing": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), archived(1, 3, 30),
			history(2, 1, "0/3000028"), archived(2, 4, 45)},
			engine.LogWindow{Timeline: "2", To: moment(20), Start: "0/2000028", End: "0/3000000",
				Gap: logName(2, 3)}},
		"no history leads to the backup": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), archived(2, 3, 35)},
			engine.LogWindow{Timeline: "2", Gap: historyName(2)}},
		"an idle file": {logName(1, 2), []engine.LogFile{archived(1, 2, 20), {Timeline: "1", Name: logName(1, 3),
			Start: "0/3000000", End: "0/4000000"}}, engine.LogWindow{Timeline: "1", To: moment(20), Start: "0/2000028",
			End: "0/4000000"}},
	} {
		facts := engine.SnapshotFacts{LogStart: &engine.LogStart{Timeline: "1", File: test.from}}
		facts.Readings = []engine.Reading{{Name: "timeline", Value: "1"}, {Name: "end of log", Value: "0/2000028"}}
		got := New().LogWindow(facts, test.files)
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := New().LogWindow(engine.SnapshotFacts{}, nil); got != (engine.LogWindow{}) {
		t.Errorf("a backup without the log's beginning covers %+v", got)
	}
}
