//go:build linux

package postgres

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// logical returns a primary that takes logical slots.
func logical(t *testing.T) *place {
	t.Helper()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	settings := protocol.Settings{Version: 1, Values: map[string]string{"wal_level": "logical"}}
	if err := m.settle(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	m.Serving = 1
	m.Must(protocol.Job{Kind: protocol.Promote, Generation: 1, Timeline: 2, Set: protocol.SyncSet{Version: 1},
		Settings: settings})
	return m
}

// TestMeasureWithoutSizes: sizes that come late or not at all take nothing along that safety needs.
func TestMeasureWithoutSizes(t *testing.T) {
	t.Parallel()
	m := logical(t)
	m.sql("SELECT pg_create_logical_replication_slot('feed', 'pgoutput')")
	m.sql("ALTER SYSTEM SET work_mem = '1MB'")
	// measured is what it tells, with a question after the sizes that is under way.
	measured := func(asked chan struct{}) api.Measures {
		t.Helper()
		m.mu.Lock()
		m.sizes = sizes{run: m.proc, asked: asked}
		m.mu.Unlock()
		got, err := m.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(got.OnlyHere, "the logical slot feed") || !slices.Contains(got.Overridden, "work_mem") {
			t.Errorf("only here is %q, overridden %q", got.OnlyHere, got.Overridden)
		}
		return got
	}
	missing := func(m api.Measures) bool {
		return slices.Contains(m.Missing, "the size of its databases: no answer yet")
	}
	if got := measured(make(chan struct{})); !missing(got) || got.DataBytes != 0 {
		t.Errorf("late: %+v", got)
	}
	for deadline := time.Now().Add(30 * time.Second); ; {
		if got := measured(nil); !missing(got) && got.DataBytes > 0 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("in time: %+v", got)
		}
	}
}

// TestMeasureInterruptedDrop: a database that is half gone is told, and keeps nothing of the others from being told.
func TestMeasureInterruptedDrop(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m.Serve(1, 2, protocol.SyncSet{Version: 1})
	m.sql(`CREATE DATABASE "a half"`)
	m.sql("CREATE TABLE words (word text COLLATE \"de-x-icu\")")
	m.sql("CREATE INDEX ON words (word)")
	m.sql("UPDATE pg_collation SET collversion = '1' WHERE collname = 'de-x-icu'")
	m.sql("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'a half'")
	var all string
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		got, err := m.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all = strings.Join(slices.Concat(got.Warnings, got.Missing), "\n"); strings.Contains(all, "de-x-icu") {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, want := range []string{`a DROP DATABASE of "a half" was interrupted`, `DROP DATABASE "a half" ends that`,
		`indexes of the database "postgres" with the collations "de-x-icu"`} {
		if !strings.Contains(all, want) {
			t.Errorf("%q does not tell %q", all, want)
		}
	}
	if strings.Contains(all, "the order of its text") {
		t.Errorf("its order of text is not known: %q", all)
	}
}
