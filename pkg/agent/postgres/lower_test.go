//go:build linux

package postgres

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func lowSettings(version uint64, most string) protocol.Settings {
	return protocol.Settings{Version: version, Values: map[string]string{"max_connections": most}}
}

// TestLower brings max_connections down on a primary and its replica: it comes into force with the next promotion, and
// on the others with their next start after that.
func TestLower(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	waits := func(m *place, start, held []string) {
		t.Helper()
		gotStart, gotHeld := m.Pending()
		if diff := cmp.Diff([][]string{start, held}, [][]string{slices.Clip(gotStart), gotHeld}); diff != "" {
			t.Errorf("%s waits for a start, or for the primary (-want +got):\n%s", m.ID, diff)
		}
	}
	lowered := []string{"max_connections"}
	for _, m := range []*place{m1, m2} {
		m.Must(protocol.Job{Kind: protocol.Reload, Settings: lowSettings(2, "50")})
	}
	waits(m1, lowered, nil)
	waits(m2, nil, lowered)

	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	m1.Serving = 0
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2, Settings: lowSettings(2, "50")})
	set := protocol.SyncSet{Version: 3}
	m2.Serving = 2
	o := m2.Must(protocol.Job{Kind: protocol.Promote, Generation: 2, Timeline: 3, Set: set,
		Settings: lowSettings(2, "50")})
	if o.Role != protocol.Primary || o.Set != 3 || o.SetAt == 0 || o.Position.Timeline != 3 || o.Unread {
		t.Errorf("after the promotion: %+v", o)
	}
	if got := m2.sql("SHOW max_connections"); got != "50" {
		t.Errorf("the new primary has %s connections, want 50", got)
	}
	waits(m2, nil, nil)

	follow := protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2", Settings: lowSettings(2, "50")}
	m1.Must(follow)
	m1.Wait("the replica reads of the lower settings", func(protocol.Server) bool {
		start, _ := m1.Pending()
		return len(start) > 0
	})
	waits(m1, lowered, nil)
	if err := m1.StopNow(); err != nil {
		t.Fatal(err)
	}
	m1.Must(follow)
	m1.Wait("the replica follows", func(o protocol.Server) bool { return o.Upstream == "m2" && !o.Unread })
	if got := m1.sql("SHOW max_connections"); got != "50" {
		t.Errorf("the replica has %s connections, want 50", got)
	}
	waits(m1, nil, nil)
	m2.sql("INSERT INTO rows VALUES (1)")
	m1.Wait("the replica streams", func(protocol.Server) bool { return m1.sql("SELECT count(*) FROM rows") == "1" })
}

// TestLowerRefused: a server that does not start with lower settings has the former ones again, and serves.
func TestLowerRefused(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	prepared := func(version uint64, most string) protocol.Settings {
		return protocol.Settings{Version: version, Values: map[string]string{"max_prepared_transactions": most}}
	}
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1, Settings: prepared(2, "3")})
	m.Serving = 1
	m.Must(protocol.Job{Kind: protocol.Promote, Generation: 1, Timeline: 2, Set: protocol.SyncSet{Version: 1},
		Settings: prepared(2, "3")})
	m.sql("CREATE TABLE rows (id int)")
	for _, name := range []string{"a", "b"} {
		m.sql("BEGIN; INSERT INTO rows VALUES (1); PREPARE TRANSACTION '" + name + "'")
	}
	if err := m.StopNow(); err != nil {
		t.Fatal(err)
	}
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 2, Settings: prepared(3, "1")})
	m.Serving = 2
	o := m.Must(protocol.Job{Kind: protocol.Promote, Generation: 2, Timeline: 3, Set: protocol.SyncSet{Version: 2},
		Settings: prepared(3, "1")})
	if o.Role != protocol.Primary {
		t.Fatalf("after the promotion: %+v", o)
	}
	if got := m.sql("SHOW max_prepared_transactions"); got != "3" {
		t.Errorf("it has room for %s prepared transactions, want 3", got)
	}
	if got := m.sql("SELECT count(*) FROM pg_prepared_xacts"); got != "2" {
		t.Errorf("%s transactions are prepared, want 2", got)
	}
}

// TestLowerLate promotes a replica that read of lower settings and did not start since: its log must not ask for the
// former ones again, or a replica that has the lower ones already would apply nothing.
func TestLowerLate(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	settings := lowSettings(2, "50")
	serve := func(m, former *place, g protocol.Generation) {
		t.Helper()
		former.Must(protocol.Job{Kind: protocol.StopFast, Generation: g - 1})
		former.Serving = 0
		m.Must(protocol.Job{Kind: protocol.Cut, Generation: g, Settings: settings})
		m.Serving = g
		m.Must(protocol.Job{Kind: protocol.Promote, Generation: g, Timeline: uint64(g) + 1,
			Set: protocol.SyncSet{Version: uint64(g)}, Settings: settings})
		if got := m.sql("SHOW max_connections"); got != "50" {
			t.Errorf("%s has %s connections, want 50", m.ID, got)
		}
		former.Must(protocol.Job{Kind: protocol.Follow, Generation: g, Member: m.ID, Settings: settings})
		m.Wait("the replica streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
	}
	for _, m := range []*place{m1, m2} {
		m.Must(protocol.Job{Kind: protocol.Reload, Settings: settings})
	}
	serve(m2, m1, 2)
	m1.Wait("the replica reads of the lower settings", func(protocol.Server) bool {
		start, _ := m1.Pending()
		return len(start) > 0
	})
	serve(m1, m2, 3)
	serve(m2, m1, 4)
	m2.sql("INSERT INTO rows VALUES (1)")
	m1.Wait("the replica applies the log", func(protocol.Server) bool {
		return m1.sql("SELECT count(*) FROM rows") == "1"
	})
}

// TestRaisedPrimaryFirst: a replica whose log asks for more than it has applies nothing. It starts with that when it
// has to read the log to its end, and can be promoted.
func TestRaisedPrimaryFirst(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	settings := lowSettings(2, "150")
	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2, Settings: settings})
	m1.Serving = 2
	m1.Must(protocol.Job{Kind: protocol.Promote, Generation: 2, Timeline: 3, Set: protocol.SyncSet{Version: 2},
		Settings: settings})
	m2.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m1", Settings: settings})
	m1.sql("INSERT INTO rows VALUES (1)")
	m2.Wait("the replica applies nothing", func(protocol.Server) bool {
		return m2.sql("SELECT pg_is_wal_replay_paused()") == "t"
	})
	if err := m1.StopNow(); err != nil {
		t.Fatal(err)
	}
	m1.Serving = 0
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 3, Settings: settings})
	m2.Serving = 3
	m2.Must(protocol.Job{Kind: protocol.Promote, Generation: 3, Timeline: 4, Set: protocol.SyncSet{Version: 3},
		Settings: settings})
	if got := m2.sql("SELECT count(*) FROM rows"); got != "1" {
		t.Errorf("%s rows are there, want 1", got)
	}
}
