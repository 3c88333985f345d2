//go:build linux

package postgres

import (
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestAge(t *testing.T) {
	t.Parallel()
	type seen struct {
		at       int
		receiver string
		// end is what it has applied, told where the log of the primary ends.
		end, told datadir.LSN
		want      int
	}
	for name, all := range map[string][]seen{
		"at rest":        {{0, "7", 10, 10, 0}, {60, "7", 10, 10, 0}, {120, "7", 10, 10, 0}},
		"it keeps up":    {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {2, "7", 15, 20, 1}, {3, "7", 25, 30, 1}},
		"replay stopped": {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {60, "7", 10, 20, 59}, {70, "7", 10, 30, 69}},
		"it goes on": {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {60, "7", 10, 20, 59}, {61, "7", 15, 30, 60},
			{62, "7", 25, 40, 2}, {63, "7", 40, 40, 0}},
		"it never caught up: by the last transaction": {{0, "7", 10, 20, 3600}, {1, "7", 10, 20, 3600}},
		"it catches up":   {{0, "7", 10, 20, 3600}, {1, "7", 10, 20, 3600}, {5, "7", 20, 30, 4}},
		"nobody is heard": {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {9, "", 10, 0, 8}},
		"what a receiver was told that ended": {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {60, "8", 10, 10, 0},
			{61, "8", 10, 99, 60}},
		"the next primary has less": {{0, "7", 10, 10, 0}, {1, "7", 10, 10, 0}, {2, "7", 10, 99, 1}, {3, "8", 20, 20, 0},
			{4, "8", 20, 20, 0}, {5, "8", 20, 21, 1}},
	} {
		var g age
		for _, o := range all {
			got := g.of(answer{recovering: true, receiver: o.receiver, end: o.end, received: o.end, told: o.told,
				past: time.Hour}, protocol.Instant(o.at)*protocol.Instant(time.Second))
			if want := time.Duration(o.want) * time.Second; got != want {
				t.Errorf("%s: after %d s the data is %s old, want %s", name, o.at, got, want)
			}
		}
	}
}

// TestLag: a replica that applies nothing says how old its data is, and 0 once it has applied what it received.
func TestLag(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	m1, m2 := s.open("m1"), s.open("m2")
	m1.Must(protocol.Job{Kind: protocol.Initialise})
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m1.Serve(1, 2, protocol.SyncSet{Version: 1})
	m2.Must(protocol.Job{Kind: protocol.Clone, Generation: 1, Member: "m1"})
	m2.Must(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"})
	m1.sql("CREATE TABLE one (n int)")
	streams := func(o protocol.Server) bool { return o.Upstream == "m1" && !o.Unread }
	behind := func() string {
		t.Helper()
		got, err := m2.Measure(t.Context())
		if err != nil || len(got.Readings) == 0 || got.Readings[0].Name != "behind" {
			t.Fatalf("it measures %+v (%v)", got, err)
		}
		return got.Readings[0].Value
	}
	m2.Wait("all to be applied", func(o protocol.Server) bool {
		return streams(o) && o.Lag == 0 && m2.sql("SELECT to_regclass('one') IS NOT NULL") == "t"
	})
	m2.sql("SELECT pg_wal_replay_pause()")
	m1.sql("INSERT INTO one VALUES (1)")
	m2.Wait("its data to be old", func(o protocol.Server) bool { return streams(o) && o.Lag >= 2*time.Second })
	if got := behind(); got == "0s" {
		t.Errorf("it is %s behind", got)
	}
	m2.sql("SELECT pg_wal_replay_resume()")
	m2.Wait("its data to be new", func(o protocol.Server) bool { return streams(o) && o.Lag == 0 })
	if got := behind(); got != "0s" {
		t.Errorf("it is %s behind", got)
	}
	if o := m1.Observe(t.Context()); o.Lag != 0 {
		t.Errorf("the primary lags by %s", o.Lag)
	}
	got, err := m1.Measure(t.Context())
	if err != nil || got.Readings[0].Name == "behind" {
		t.Errorf("the primary measures %+v (%v)", got, err)
	}
}
