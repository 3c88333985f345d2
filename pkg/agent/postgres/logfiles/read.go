//go:build linux

package logfiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// Read returns a file that waits, and what is known of it. A Refused says that it does not wait.
func (f *Files) Read(ctx context.Context, name string) (api.LogFile, []byte, error) {
	out := api.LogFile{Name: name}
	body, err := f.readWaiting(name)
	if err != nil {
		return out, nil, err
	}
	if timeline, history := datadir.HistoryOf(name); history {
		past, err := datadir.ParseHistory(timeline, string(body))
		if err != nil || len(past.Forks) == 0 {
			return out, nil, errors.Join(fmt.Errorf("read %s: it names no timeline before it", name), err)
		}
		fork := past.Forks[len(past.Forks)-1]
		out.Timeline, out.Start, out.End = "history", strconv.FormatUint(fork.Timeline, 10), fork.End.String()
		return out, body, nil
	}
	timeline, number, _ := datadir.SegmentOf(name)
	out.Timeline, out.Start, out.End = strconv.FormatUint(timeline, 10), (number * datadir.SegmentSize).String(),
		((number + 1) * datadir.SegmentSize).String()
	if out.Time, err = f.lastCommit(ctx, name); err == nil {
		f.noteSent(name, out.Time)
	}
	return out, body, err
}

// readWaiting reads a file that waits for the archive, and no other.
func (f *Files) readWaiting(name string) ([]byte, error) {
	_, history := datadir.HistoryOf(name)
	if _, _, segment := datadir.SegmentOf(name); !segment && !history {
		return nil, api.Refused{Why: fmt.Sprintf("%q is no file of the log", name)}
	}
	wal := filepath.Join(f.Pgdata, "pg_wal")
	if _, err := os.Stat(filepath.Join(wal, "archive_status", name+".ready")); err != nil {
		return nil, api.Refused{Why: name + " does not wait for the archive"}
	}
	body, err := os.ReadFile(filepath.Join(wal, name)) //nolint:gosec // its name was judged
	if err != nil {
		return nil, fmt.Errorf("read a file of the log: %w", err)
	}
	return body, nil
}

// lastCommit returns the time of the last commit in a file of the log.
func (f *Files) lastCommit(ctx context.Context, name string) (last time.Time, err error) {
	cmd := exec.CommandContext(ctx, f.Program("pg_waldump"), //nolint:gosec // the program is ours
		"--rmgr", "Transaction", filepath.Join(f.Pgdata, "pg_wal", name))
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TZ=UTC")
	out, err := cmd.Output()
	// It fails where the last record goes on in the next file. What it said before counts.
	if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
		return last, fmt.Errorf("run pg_waldump: %w", err)
	}
	return newestCommit(string(out)), nil
}

// newestCommit reads lines such as "... desc: COMMIT 2026-11-23 20:20:20.123456 UTC; ...".
func newestCommit(out string) (last time.Time) {
	for line := range strings.Lines(out) {
		_, after, found := strings.Cut(line, "COMMIT")
		if !found {
			continue
		}
		words := strings.Fields(strings.TrimPrefix(after, "_PREPARED"))
		for i := 0; i+1 < len(words); i++ {
			at, err := time.Parse("2006-01-02 15:04:05.999999", words[i]+" "+strings.TrimSuffix(words[i+1], ";"))
			if err == nil && at.After(last) {
				last = at
			}
		}
	}
	return last
}
