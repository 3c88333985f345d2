//go:build linux

package logfiles

import (
	"testing"
	"time"
)

// TestNewestCommit reads what pg_waldump says of commits, and of nothing else.
func TestNewestCommit(t *testing.T) {
	t.Parallel()
	const line = "rmgr: Transaction len (rec/tot):     34/    34, tx:        733, lsn: 0/0152F3E8, prev 0/0152F3A8, desc: "
	out := line + "COMMIT 2026-11-23 20:20:20.123456 UTC\n" +
		line + "COMMIT_PREPARED 733: 2026-11-23 20:20:22.5 UTC; dropped stats: 2/5/0\n" +
		line + "COMMIT 2026-11-23 20:20:21.000000 UTC; inval msgs: catcache 54\n" +
		line + "ABORT 2026-11-23 20:20:30.000000 UTC\n"
	if got, want := newestCommit(out), time.Date(2026, 11, 23, 20, 20, 22, 5e8, time.UTC); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := newestCommit("pg_waldump: error: nothing\n"); !got.IsZero() {
		t.Errorf("got %s", got)
	}
}
