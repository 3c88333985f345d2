//go:build linux

// Package logfiles has the files of the log of a server that wait for the archive: it says which, reads them, takes the
// word that the archive has one, and keeps them where a rewind or a new copy of the data would remove them.
package logfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
)

// Files are those of one server. Several goroutines may use them.
type Files struct {
	local.Server

	// Pgdata is the directory of the data.
	Pgdata string
	// Kept is where files are during a rewind, beside Pgdata. pg_rewind removes what its source does not have, and takes
	// from there what counts as archived (decide_file_action in filemap.c). A source that is a copy counts all as archived
	// that came with the copy, or does not have it: with an archive that was away meanwhile the log would have a gap.
	Kept string
	// Saved is where they are while a copy is made again, after a rewind that ended in the middle.
	Saved string
	// Report takes what a person should know.
	Report func(string)

	mu sync.Mutex
	// sent are files that the archive read from here and did not confirm yet, with the time of their last commit.
	sent map[string]time.Time
	// until is the time of the last commit that the archive has without a gap, on a timeline, as far as this run of the
	// agent has seen it.
	until    time.Time
	timeline uint64
}

const (
	// mostWaiting is how many files may wait, and longestWait how long the oldest, before it is worth a warning. What
	// archives asks every two seconds.
	mostWaiting = 16
	longestWait = 5 * time.Minute
)

// Waiting lists the files that the server keeps for the archive, oldest first.
func (f *Files) Waiting() ([]string, error) {
	found, err := os.ReadDir(filepath.Join(f.Pgdata, "pg_wal", "archive_status"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what waits for the archive: %w", err)
	}
	var out []string
	for _, mark := range found {
		if name, ready := strings.CutSuffix(mark.Name(), ".ready"); ready {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Waits is how much waits for the archive.
type Waits struct {
	Files int
	// Since is how long the oldest waits.
	Since time.Duration
}

// String is how people read it: "0", "1 file, 5s" or "3 files, 2m10s".
func (w Waits) String() string {
	if w.Files == 0 {
		return "0"
	}
	word := "files"
	if w.Files == 1 {
		word = "file"
	}
	return fmt.Sprintf("%d %s, %s", w.Files, word, w.Since.Truncate(time.Second))
}

// Late says whether it is worth a warning.
func (w Waits) Late() bool { return w.Files > mostWaiting || w.Files > 0 && w.Since > longestWait }

// Measure returns how much waits.
func (f *Files) Measure() (Waits, error) {
	ready, err := f.Waiting()
	out := Waits{Files: len(ready)}
	for _, name := range ready {
		info, err := os.Stat(filepath.Join(f.Pgdata, "pg_wal", "archive_status", name+".ready"))
		if err == nil {
			out.Since = max(out.Since, time.Since(info.ModTime()))
		}
	}
	return out, err
}
