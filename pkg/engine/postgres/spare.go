package postgres

import (
	"slices"
	"strconv"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// SpareLog implements engine.LogArchiver. A restore reads the log of the timeline that its backup starts on, and of
// those that go on from it, each from the file of the start on. A timeline goes on from older ones alone.
func (*Engine) SpareLog(backups []engine.LogStart, archive []engine.LogFile) []engine.LogFile {
	var starts []place
	newest := uint64(0)
	for _, b := range backups {
		p, ok := parseLogName(b.File)
		if !ok {
			return nil
		}
		starts, newest = append(starts, p), max(newest, p.timeline)
	}
	if len(starts) == 0 {
		return nil
	}
	forks := forksOf(archive)
	for t := range forks {
		newest = max(newest, t)
	}
	for _, f := range archive {
		if p, ok := parseLogName(f.Name); ok {
			newest = max(newest, p.timeline)
		}
	}
	var out []engine.LogFile
	for _, f := range archive {
		p, ok := parseLogName(f.Name)
		if !ok || f.Timeline == historyTimeline || p.timeline == newest || !forks.known(p.timeline) {
			continue
		}
		if !slices.ContainsFunc(starts, func(s place) bool { return forks.reads(s, p) }) {
			out = append(out, f)
		}
	}
	return out
}

// fork says which timeline another one goes on from, and where.
type fork struct {
	parent, begin uint64
	// unsure: there are two that differ, or what there is can't be read.
	unsure bool
}

// forks are those of an archive, by the timeline that begins there.
type forks map[uint64]fork

func forksOf(archive []engine.LogFile) forks {
	out := forks{}
	for _, f := range archive {
		if f.Timeline != historyTimeline || len(f.Name) < len("00000001") {
			continue
		}
		t, err := strconv.ParseUint(f.Name[:len("00000001")], 16, 32)
		if err != nil || f.Name != historyName(t) {
			continue
		}
		parent, err := strconv.ParseUint(f.Start, 10, 32)
		begin, err2 := basebackup.ParseLSN(f.End)
		next := fork{parent: parent, begin: begin, unsure: err != nil || err2 != nil || parent == 0 || parent >= t}
		if known, twice := out[t]; twice && known != next {
			next.unsure = true
		}
		out[t] = next
	}
	return out
}

// known reports whether the archive tells where a timeline begins: the first one has no file for that.
func (all forks) known(timeline uint64) bool {
	f, found := all[timeline]
	return timeline == 1 && !found || found && !f.unsure
}

// reads reports whether a restore that starts at one place may read the file of another. What nobody can tell may be.
func (all forks) reads(start, file place) bool {
	if file.number < start.number {
		return false
	}
	for t := file.timeline; t > start.timeline; {
		f := all[t]
		if !all.known(t) || f.parent == 0 {
			return true
		}
		if f.parent == start.timeline {
			return start.number <= f.begin/logFileSize
		}
		t = f.parent
		if t < start.timeline {
			return false
		}
	}
	return file.timeline == start.timeline
}
