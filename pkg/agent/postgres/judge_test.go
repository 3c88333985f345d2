//go:build linux

package postgres

import (
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestRemoved(t *testing.T) {
	t.Parallel()
	const text = "requested WAL segment 000000010000000000000003 has already been removed"
	for line, want := range map[string]bool{
		"2026-11-28 18:17:59.606 GMT [5490] FATAL:  could not receive data from WAL stream: ERROR:  " + text: true,
		"[7] FATAL:  could not receive data from WAL stream: ERROR:  " + text:                                true,
		"[7] FATAL:  XX000: could not receive data from WAL stream: ERROR:  " + text:                         true,
		// The primary says so of a replica.
		"2026-11-28 18:17:59.606 GMT [5490] ERROR:  " + text:                                    false,
		"2026-11-28 18:17:59.606 GMT [5490] STATEMENT:  START_REPLICATION 0/3000000 TIMELINE 1": false,
		"[7] FATAL:  could not receive data from WAL stream: ERROR:  something else":            false,
		// Clients write into the log, too.
		`[7] ERROR:  invalid input syntax for type integer: "` + text + `"`:                  false,
		"[7] LOG:  FATAL:  could not receive data from WAL stream: ERROR:  " + text:          false,
		"[7] ERROR:  XX000: FATAL:  could not receive data from WAL stream: ERROR:  " + text: false,
		"\tFATAL:  could not receive data from WAL stream: ERROR:  " + text:                  false,
		"": false,
	} {
		if got := removed(line); got != want {
			t.Errorf("%q: %t", line, got)
		}
	}
}

// TestJudge: a primary is not judged by what it says of a replica, and a copy that received more is fit again.
func TestJudge(t *testing.T) {
	t.Parallel()
	const line = "[7] FATAL:  could not receive data from WAL stream: ERROR:  " +
		"requested WAL segment 000000010000000000000003 has already been removed"
	primary := &Server{promoted: 1}
	if primary.judge(line); primary.unfit != "" {
		t.Errorf("the primary is unfit: %s", primary.unfit)
	}
	replica := &Server{position: protocol.Position{Timeline: 1, Offset: 100}}
	replica.judge(line)
	if replica.moved(); replica.unfit != logGone {
		t.Errorf("a replica without its log is fit: %q", replica.unfit)
	}
	replica.position.Offset++
	if replica.moved(); replica.unfit != "" {
		t.Errorf("a replica that received more is unfit: %s", replica.unfit)
	}
	replica.unfit = halfRewound
	if replica.moved(); replica.unfit != halfRewound {
		t.Error("another judgement ended")
	}
}
