//go:build linux

package logfiles

import (
	"os"
	"path/filepath"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// mostSent bounds what is remembered of files that nobody confirms.
const mostSent = 1024

// noteSent remembers a file that is read for the archive.
func (f *Files) noteSent(name string, last time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent == nil || len(f.sent) >= mostSent {
		f.sent = map[string]time.Time{}
	}
	f.sent[name] = last
}

// noteArchived remembers that the archive has a file. It counts if the archive has every file before it: then each
// commit up to its last one can be restored. ready are the files that the server has not let go, in order; it takes a
// moment to let go one that is marked.
func (f *Files) noteArchived(name string, ready []string) {
	for _, earlier := range ready {
		if earlier >= name {
			break
		}
		if _, _, segment := datadir.SegmentOf(earlier); !segment {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.marks(), earlier)); err != nil {
			return
		}
	}
	timeline, _, segment := datadir.SegmentOf(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	last, known := f.sent[name]
	delete(f.sent, name)
	if !segment || !known || last.IsZero() {
		return
	}
	if timeline != f.timeline || last.After(f.until) {
		f.until, f.timeline = last, timeline
	}
}

// Until is the time of the last commit that the archive has of a timeline; zero if that is not known.
func (f *Files) Until(timeline uint64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timeline != timeline {
		return time.Time{}
	}
	return f.until
}
