package agent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// ending is a record with which a transaction ends, as pg_waldump tells it.
type ending struct {
	lsn, xid  string
	at        time.Time
	committed bool
}

var endingLine = regexp.MustCompile(
	`rmgr: Transaction .* tx: +(\d+), lsn: ([0-9A-F]+/[0-9A-F]+), .* desc: (COMMIT|ABORT) ([-0-9]+ [0-9:.]+) UTC`)

// walSegment is how much of the log is in a file, in bytes.
const walSegment = 16 << 20

// endings reads them in the order of the log, along the newest timeline.
func (s *site) endings(t *testing.T, spool string) []ending {
	t.Helper()
	spool = fullSegments(t, spool)
	histories, _ := filepath.Glob(filepath.Join(spool, "*.history")) // the pattern is right
	files, _ := filepath.Glob(filepath.Join(spool, strings.Repeat("?", 24)))
	first := segmentStart(t, files[0])
	var all []ending
	timeline := 1
	for _, f := range forks(t, histories) {
		if f.at > first {
			all = append(all, waldump(t, spool, timeline, first, f.at)...)
			first = f.at
		}
		timeline = f.to
	}
	last := files[len(files)-1]
	return append(all, waldump(t, spool, timeline, first, segmentStart(t, last)+walSegment)...)
}

// fork is where one timeline leaves another, and which follows it.
type fork struct {
	at uint64
	to int
}

// forks reads the history of the newest timeline.
func forks(t *testing.T, histories []string) []fork {
	t.Helper()
	if len(histories) == 0 {
		return nil
	}
	newest := histories[len(histories)-1]
	raw, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	var all []fork
	for line := range strings.Lines(string(raw)) {
		cells := strings.Fields(line)
		if len(cells) < 2 {
			continue
		}
		from, err := strconv.Atoi(cells[0])
		at, err2 := basebackup.ParseLSN(cells[1])
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			all[len(all)-1].to = from
		}
		all = append(all, fork{at: at})
	}
	number, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(newest), ".history"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	all[len(all)-1].to = int(number)
	return all
}

// fullSegments has each file in which a timeline ends also under the name that it has there: the one in which the next
// timeline goes on begins with the same bytes, and only that is archived.
func fullSegments(t *testing.T, spool string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(spool)); err != nil {
		t.Fatal(err)
	}
	histories, _ := filepath.Glob(filepath.Join(dir, "*.history")) // the pattern is right
	files, _ := filepath.Glob(filepath.Join(dir, strings.Repeat("?", 24)))
	if len(files) == 0 {
		t.Fatal("no log is archived")
	}
	// What the first primary had before the others copied its data is lost with it where the store was away.
	first, before := segmentStart(t, files[0]), 1
	for _, f := range forks(t, histories) {
		name := func(timeline int) string {
			return filepath.Join(dir, fmt.Sprintf("%08X%08X%08X", timeline, f.at>>32, f.at%(1<<32)/walSegment))
		}
		err := os.Link(name(f.to), name(before))
		if err != nil && !errors.Is(err, os.ErrExist) && f.at >= first {
			t.Fatal(err)
		}
		before = f.to
	}
	return dir
}

func segmentStart(t *testing.T, file string) uint64 {
	t.Helper()
	name := filepath.Base(file)
	high, err := strconv.ParseUint(name[8:16], 16, 64)
	low, err2 := strconv.ParseUint(name[16:], 16, 64)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	return high<<32 + low*walSegment
}

// waldump reads the log of one timeline from one place to before another.
func waldump(t *testing.T, spool string, timeline int, from, to uint64) []ending {
	t.Helper()
	c := exec.CommandContext(t.Context(), filepath.Join(programs(t), "pg_waldump"), "--path", spool, "--timeline",
		strconv.Itoa(timeline), "--start", basebackup.FormatLSN(from), "--end", basebackup.FormatLSN(to),
		"--rmgr", "Transaction")
	c.Env = append(os.Environ(), "TZ=UTC")
	out, err := c.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok { // the log of the last timeline ends before its file does
		t.Logf("pg_waldump of timeline %d: %s", timeline, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var all []ending
	for line := range strings.Lines(string(out)) {
		m := endingLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		at, err := time.Parse("2006-01-02 15:04:05.999999", m[4])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ending{xid: m[1], lsn: m[2], at: at, committed: m[3] == "COMMIT"})
	}
	if len(all) == 0 {
		t.Errorf("pg_waldump tells of no transaction on timeline %d: %s", timeline, out)
	}
	return slices.Clip(all)
}
