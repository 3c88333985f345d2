package valkey

import (
	"slices"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/logfile"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// SpareLog implements engine.LogArchiver. A restore reads the log of the history that its backup is of, from its place
// on, and of those that go on from there. A history goes on from older ones alone.
func (*Engine) SpareLog(backups []engine.LogStart, archive []engine.LogFile) []engine.LogFile {
	all := histories{}
	newest := uint64(0)
	for _, a := range archive {
		f, ok := logfile.ParseFork(a.Name, a.Start, a.End)
		if !ok {
			continue
		}
		newest = max(newest, f.Timeline)
		known, twice := all[f.History]
		all[f.History] = history{Fork: f, unsure: twice && (known.unsure || known.Fork != f)}
	}
	var starts []logfile.Name
	for _, b := range backups {
		n, ok := logfile.ParseName(b.File)
		if !ok || !all.known(n.History) {
			return nil
		}
		starts = append(starts, n)
	}
	if len(starts) == 0 {
		return nil
	}
	var out []engine.LogFile
	for _, a := range archive {
		n, ok := logfile.ParseName(a.Name)
		if !ok || !all.known(n.History) || all[n.History].Timeline == newest {
			continue
		}
		if !slices.ContainsFunc(starts, func(s logfile.Name) bool { return all.reads(s, n) }) {
			out = append(out, a)
		}
	}
	return out
}

// history is where one begins.
type history struct {
	logfile.Fork

	// unsure: the archive has two that differ.
	unsure bool
}

// histories are those of which an archive tells where they begin.
type histories map[string]history

func (all histories) known(name string) bool {
	h, found := all[name]
	return found && !h.unsure
}

// reads reports whether a restore that starts at a place of a known history may read a file of another known one. What
// nobody can tell may be.
func (all histories) reads(start, file logfile.Name) bool {
	if file.History == start.History {
		return file.End > start.End
	}
	first := all[start.History]
	for h := all[file.History]; h.Timeline > first.Timeline; {
		parent := all[h.Parent]
		if h.Parent == "" || !all.known(h.Parent) || parent.Timeline >= h.Timeline {
			return true
		}
		if h.Parent == start.History {
			return start.End <= first.Own(h.Begin)
		}
		h = parent
	}
	return false
}
