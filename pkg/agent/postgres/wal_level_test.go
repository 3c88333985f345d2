//go:build linux

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestWALLevel: a server takes the level that people choose at its start, starts with its logical slots whatever they
// choose, and has none any more as a replica.
func TestWALLevel(t *testing.T) {
	t.Parallel()
	m := alone(t)
	ctx := t.Context()
	again := func(version uint64, values map[string]string, want string) {
		t.Helper()
		if err := m.Do(ctx, protocol.Job{Kind: protocol.StopFast}, func() bool { return true }); err != nil {
			t.Fatal(err)
		}
		if err := m.settle(ctx, protocol.Settings{Version: version, Values: values}); err != nil {
			t.Fatal(err)
		}
		if got := m.sql("SHOW wal_level"); got != want {
			t.Errorf("with %v wal_level is %s, want %s", values, got, want)
		}
	}
	if got := m.sql("SHOW wal_level"); got != "replica" {
		t.Errorf("wal_level is %s", got)
	}
	if err := m.CheckValues(ctx, map[string]string{"wal_level": "minimal"}); err == nil {
		t.Error("a log is accepted that replicas can't read")
	}
	again(2, map[string]string{"wal_level": "logical"}, "logical")
	promoted := protocol.Job{Kind: protocol.Promote, Generation: 9, Timeline: 9, Set: protocol.SyncSet{Version: 9},
		Settings: protocol.Settings{Version: 2, Values: map[string]string{"wal_level": "logical"}}}
	if err := m.Do(ctx, promoted, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	m.sql("SELECT pg_create_logical_replication_slot('one', 'pgoutput'), pg_create_physical_replication_slot('two')")
	again(3, nil, "logical")
	slots, err := m.logicalSlots()
	if diff := cmp.Diff([]string{"one"}, slots); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if err := m.dropLogicalSlots(ctx); err != nil {
		t.Error(err)
	}
	again(4, nil, "replica")
	if got := m.sql("SELECT string_agg(slot_name, ' ') FROM pg_replication_slots"); got != "two" {
		t.Errorf("the slots are %q", got)
	}
}
