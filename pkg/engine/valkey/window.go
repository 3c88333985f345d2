package valkey

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// stretch is what a restore reads of a file: the bytes of its history between two places.
type stretch struct {
	logfile.Name

	start    uint64
	time     time.Time
	from, to uint64
}

// path is what of an archive goes on from a backup, in order.
type path struct {
	stretches []stretch
	// newest is the timeline that it follows, last the time of the last mark.
	newest uint64
	last   time.Time
	gap    string
}

// LogWindow implements engine.LogArchiver. It walks from the backup on to the newest history, until a file is missing.
func (*Engine) LogWindow(backup engine.SnapshotFacts, archive []engine.LogFile) engine.LogWindow {
	if backup.LogStart == nil {
		return engine.LogWindow{}
	}
	start, ok := logfile.ParseName(backup.LogStart.File)
	if !ok {
		return engine.LogWindow{}
	}
	p := follow(start, math.MaxUint64, archive)
	return engine.LogWindow{To: p.last, Timeline: strconv.FormatUint(p.newest, 10), Gap: p.gap}
}

// follow finds the way from a place to the newest timeline that goes on from it and is not above another one. Where the
// newest of all goes on from none, because a server ended without an order, that is a gap.
func follow(start logfile.Name, highest uint64, archive []engine.LogFile) (p path) {
	all := forksOf(highest, archive)
	for n, newest := range all {
		line := lineOf(newest, all[n:])
		i := slices.IndexFunc(line, func(f logfile.Fork) bool { return f.History == start.History })
		if i < 0 {
			continue
		}
		p.newest = newest.Timeline
		if p.along(line[i:], start.End, archive); p.gap == "" && n > 0 {
			p.gap = all[n-1].Name()
		}
		return p
	}
	return p
}

// along walks from a place in the first of some histories to the end of the last.
func (p *path) along(line []logfile.Fork, at uint64, archive []engine.LogFile) {
	for i, f := range line {
		end := uint64(math.MaxUint64)
		if i+1 < len(line) {
			end = f.Own(line[i+1].Begin)
		}
		if i > 0 {
			at = f.Own(f.Begin)
		}
		if p.walk(f.History, at, end, archive); p.gap != "" {
			return
		}
	}
}

// forksOf are the forks of an archive, newest first.
func forksOf(highest uint64, archive []engine.LogFile) (all []logfile.Fork) {
	for _, a := range archive {
		if f, ok := logfile.ParseFork(a.Name, a.Start, a.End); ok && f.Timeline <= highest {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(x, y logfile.Fork) int { return cmp.Compare(y.Timeline, x.Timeline) })
	return all
}

// lineOf are a history and those that it goes on from, oldest first.
func lineOf(newest logfile.Fork, older []logfile.Fork) []logfile.Fork {
	line := []logfile.Fork{newest}
	for _, f := range older {
		if last := line[len(line)-1]; f.History == last.Parent && f.Timeline < last.Timeline {
			line = append(line, f)
		}
	}
	slices.Reverse(line)
	return line
}

// walk adds the files of a history between two places. A file that goes on behind the end was written by a primary that
// lost what is there: its marks may be from then, and so its time does not count.
func (p *path) walk(history string, at, end uint64, archive []engine.LogFile) {
	if at > end {
		p.gap = logfile.Name{History: history, End: at}.String()
		return
	}
	files := filesOf(history, archive)
	for at < end {
		best := -1
		for i, f := range files {
			if f.start > at || f.End <= at {
				continue
			}
			if best < 0 || better(f.End, files[best].End, end) {
				best = i
			}
		}
		if best < 0 {
			more := slices.ContainsFunc(files, func(f stretch) bool { return f.start > at })
			if more || end != math.MaxUint64 {
				p.gap = logfile.Name{History: history, End: at}.String()
			}
			return
		}
		f := files[best]
		f.from, f.to = at, min(f.End, end)
		if f.End <= end && f.time.After(p.last) {
			p.last = f.time
		}
		p.stretches = append(p.stretches, f)
		at = f.to
	}
}

// better says whether a file that ends at a leads further than one that ends at b, and not beyond the end if it need
// not.
func better(a, b, end uint64) bool {
	if (a <= end) != (b <= end) {
		return a <= end
	}
	return a > b
}

func filesOf(history string, archive []engine.LogFile) (files []stretch) {
	for _, a := range archive {
		n, ok := logfile.ParseName(a.Name)
		start, valid := logfile.ParsePlace(a.Start)
		if ok && valid && n.History == history && start < n.End {
			files = append(files, stretch{Name: n, start: start, time: a.Time})
		}
	}
	return files
}
