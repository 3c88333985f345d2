//go:build linux

package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
)

// The server keeps a file of its log until archive_command succeeds. That is no program that copies: it waits until the
// agent was told that the archive has the file, which is a mark in a directory beside the sockets.

// archived is the directory of the marks. They don't outlive a run of the server.
func (c Config) archived() string { return filepath.Join(c.Sockets, "archived") }

// ending is the mark of a server that is asked to stop: it doesn't wait for its archive.
const ending = "ending"

// archiveCommand waits half a minute for a mark. The server tries again as long as it fails; an end above 125 ends the
// archiver, which a server that stops would wait for otherwise.
func (c Config) archiveCommand() string {
	return fmt.Sprintf("cd '%s' && until test -e %%f; do test -e %s && exit 126; n=$((n+1)); "+
		"test $n -gt 60 && exit 1; sleep 0.5; done", c.archived(), ending)
}

// resetArchived forgets all marks.
func (s *Server) resetArchived() error {
	err := os.RemoveAll(s.archived())
	if err == nil {
		err = os.Mkdir(s.archived(), 0o700)
	}
	if err != nil {
		return fmt.Errorf("prepare what waits for the archive: %w", err)
	}
	return nil
}

// stopArchiver has the archiver not wait any more.
func (s *Server) stopArchiver() error { return s.markArchived(ending) }

func (s *Server) markArchived(name string) error {
	if err := os.WriteFile(filepath.Join(s.archived(), name), nil, 0o600); err != nil {
		return fmt.Errorf("note what the archive has: %w", err)
	}
	return nil
}

// LogFiles implements api.LogKeeper. What no recovery reads is let go: the end of a history that was given up, and the
// notes of base backups.
func (s *Server) LogFiles(context.Context) (api.LogFiles, error) {
	s.mu.Lock()
	past, position := s.identity.Lineage, s.position
	s.mu.Unlock()
	if err := s.keepEnded(past, position); err != nil {
		return api.LogFiles{}, err
	}
	ready, err := s.waiting()
	if err != nil {
		return api.LogFiles{}, err
	}
	if err := s.forgetArchived(ready); err != nil {
		return api.LogFiles{}, err
	}
	out := api.LogFiles{Timeline: past.Timeline}
	for _, name := range ready {
		switch past.Needs(name) {
		case datadir.Needed:
			out.Names = append(out.Names, name)
		case datadir.Useless:
			if err := s.markArchived(name); err != nil {
				return api.LogFiles{}, err
			}
		}
	}
	return out, nil
}

// waiting lists the files that the server keeps for the archive, oldest first.
func (s *Server) waiting() ([]string, error) {
	found, err := os.ReadDir(filepath.Join(s.pgdata(), "pg_wal", "archive_status"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what waits for the archive: %w", err)
	}
	var out []string
	for _, f := range found {
		if name, ready := strings.CutSuffix(f.Name(), ".ready"); ready {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// backlog is what waits for the archive.
type backlog struct {
	files int
	// since is how long the oldest waits.
	since time.Duration
}

// String is how people read it: "0", "1 file, 5s" or "3 files, 2m10s".
func (b backlog) String() string {
	if b.files == 0 {
		return "0"
	}
	word := "files"
	if b.files == 1 {
		word = "file"
	}
	return fmt.Sprintf("%d %s, %s", b.files, word, b.since.Truncate(time.Second))
}

// late says whether it is worth a warning.
func (b backlog) late() bool { return b.files > mostWaiting || b.files > 0 && b.since > longestWait }

// unarchived measures what waits.
func (s *Server) unarchived() (backlog, error) {
	ready, err := s.waiting()
	out := backlog{files: len(ready)}
	for _, name := range ready {
		info, err := os.Stat(filepath.Join(s.pgdata(), "pg_wal", "archive_status", name+".ready"))
		if err == nil {
			out.since = max(out.since, time.Since(info.ModTime()))
		}
	}
	return out, err
}

// forgetArchived removes marks that the server has read.
func (s *Server) forgetArchived(ready []string) error {
	marks, err := os.ReadDir(s.archived())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read what the archive has: %w", err)
	}
	for _, m := range marks {
		if _, waits := slices.BinarySearch(ready, m.Name()); waits || m.Name() == ending {
			continue
		}
		if err := os.Remove(filepath.Join(s.archived(), m.Name())); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("forget what the archive has: %w", err)
		}
	}
	return nil
}

// ReadLog implements api.LogKeeper.
func (s *Server) ReadLog(ctx context.Context, name string) (api.LogFile, []byte, error) {
	out := api.LogFile{Name: name}
	body, err := s.readWaiting(name)
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
	if out.Time, err = s.lastCommit(ctx, name); err == nil {
		s.noteSent(name, out.Time)
	}
	return out, body, err
}

// readWaiting reads a file that waits for the archive, and no other.
func (s *Server) readWaiting(name string) ([]byte, error) {
	_, history := datadir.HistoryOf(name)
	if _, _, segment := datadir.SegmentOf(name); !segment && !history {
		return nil, api.Refused{Why: fmt.Sprintf("%q is no file of the log", name)}
	}
	wal := filepath.Join(s.pgdata(), "pg_wal")
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
func (s *Server) lastCommit(ctx context.Context, name string) (last time.Time, err error) {
	cmd := exec.CommandContext(ctx, s.Program("pg_waldump"), //nolint:gosec // the program is ours
		"--rmgr", "Transaction", filepath.Join(s.pgdata(), "pg_wal", name))
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

// ConfirmLog implements api.LogKeeper.
func (s *Server) ConfirmLog(_ context.Context, name, sum string) error {
	ready, err := s.waiting()
	if _, waits := slices.BinarySearch(ready, name); err != nil || !waits {
		return err // the server has let it go before
	}
	body, err := s.readWaiting(name)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(body)
	if own := hex.EncodeToString(digest[:]); len(sum) < 32 || !strings.HasPrefix(own, sum) {
		return api.Refused{Why: fmt.Sprintf("%s has other bytes here than in the archive", name)}
	}
	if err := s.markArchived(name); err != nil {
		return err
	}
	s.noteArchived(name, ready)
	return nil
}
