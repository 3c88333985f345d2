package postgres

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// historyTimeline is what files that tell where timelines fork are filed under. Start is the timeline before, End the
// place of the fork.
const historyTimeline = "history"

// logFileSize is that of each file of the log.
const logFileSize = 16 << 20

// LogWindow implements engine.LogArchiver. It walks along the newest timeline and those before it, from the backup on,
// until a file is missing.
func (*Engine) LogWindow(backup engine.SnapshotFacts, archive []engine.LogFile) engine.LogWindow {
	start, ok := startOf(backup)
	if !ok {
		return engine.LogWindow{}
	}
	there := map[string]engine.LogFile{}
	newest := start.timeline
	for _, f := range archive {
		there[f.Name] = f
		if f.Timeline == historyTimeline {
			continue
		}
		if p, ok := parseLogName(f.Name); ok {
			newest = max(newest, p.timeline)
		}
	}
	line := lineOf(newest, there)
	var last uint64
	for name := range there {
		if p, ok := parseLogName(name); ok && timelineAt(line, p.number) == p.timeline {
			last = max(last, p.number)
		}
	}
	out := engine.LogWindow{Timeline: strconv.FormatUint(newest, 10)}
	if !slices.ContainsFunc(line, func(b branch) bool { return b.timeline == start.timeline }) {
		out.Gap = historyName(newest)
		return out
	}
	for n := start.number; n <= last; n++ {
		name := logName(timelineAt(line, n), n)
		f, found := there[name]
		if !found {
			out.Gap = name
			break
		}
		if f.Time.After(out.To) {
			out.To = f.Time
		}
		out.Start, out.End = endOf(backup), basebackup.FormatLSN((n+1)*logFileSize)
	}
	return out
}

// place is the file of the log that a backup begins with.
type place struct{ timeline, number uint64 }

// startOf reads what a backup says of itself.
func startOf(backup engine.SnapshotFacts) (p place, ok bool) {
	if backup.LogStart == nil {
		return p, false
	}
	return parseLogName(backup.LogStart.File)
}

// endOf is the place in the log where a backup is complete; "" if it doesn't say.
func endOf(backup engine.SnapshotFacts) string {
	for _, r := range backup.Readings {
		if r.Name == endReading {
			return r.Value
		}
	}
	return ""
}

// branch is a timeline and where it begins.
type branch struct{ timeline, begin uint64 }

// lineOf is a timeline and those before it, newest first, as far as their history files are there.
func lineOf(newest uint64, there map[string]engine.LogFile) []branch {
	var out []branch
	for t := newest; ; {
		f, found := there[historyName(t)]
		parent, err := strconv.ParseUint(f.Start, 10, 32)
		begin, err2 := basebackup.ParseLSN(f.End)
		if !found || err != nil || err2 != nil || parent >= t {
			return append(out, branch{timeline: t})
		}
		out = append(out, branch{t, begin})
		t = parent
	}
}

// timelineAt is the timeline whose file recovery reads: that of a fork is the newer one's, which holds both.
func timelineAt(line []branch, number uint64) uint64 {
	for _, b := range line {
		if b.begin/logFileSize <= number {
			return b.timeline
		}
	}
	return line[len(line)-1].timeline
}

func historyName(timeline uint64) string { return fmt.Sprintf("%08X.history", timeline) }

// logName is the name of a file of the log.
func logName(timeline, number uint64) string {
	const each = 1 << 32 / logFileSize
	return fmt.Sprintf("%08X%08X%08X", timeline, number/each, number%each)
}

// parseLogName is the way back.
func parseLogName(name string) (p place, ok bool) {
	if len(name) != 24 {
		return p, false
	}
	timeline, err := strconv.ParseUint(name[:8], 16, 32)
	high, err2 := strconv.ParseUint(name[8:16], 16, 32)
	low, err3 := strconv.ParseUint(name[16:], 16, 32)
	return place{timeline, high*(1<<32/logFileSize) + low}, err == nil && err2 == nil && err3 == nil
}
