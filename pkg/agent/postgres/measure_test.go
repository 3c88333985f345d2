//go:build linux

package postgres

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

func TestMeasuresFrom(t *testing.T) {
	reading := func(all ...string) (out []api.Reading) {
		for i := 0; i < len(all); i += 2 {
			out = append(out, api.Reading{Name: all[i], Value: all[i+1]})
		}
		return out
	}
	for _, c := range []struct {
		name string
		got  api.Measures
		want api.Measures
	}{
		{"at rest", measuresFrom(30<<20, 32<<20, 0, 100, 0, 50), api.Measures{DataBytes: 62 << 20,
			Readings: reading("connections", "0/100", "oldest transaction", "0s", "log", "32Mi")}},
		{"in use", measuresFrom(1, 0, 12, 100, 65, 0), api.Measures{DataBytes: 1,
			Readings: reading("connections", "12/100", "oldest transaction", "1m5s", "log", "0Mi")}},
		{"full", measuresFrom(1, 0, 100, 100, 7200, 0), api.Measures{DataBytes: 1,
			Readings: reading("connections", "100/100", "oldest transaction", "2h0m0s", "log", "0Mi"),
			Warnings: []string{"all of its 100 connections are in use",
				"a transaction has been open for 2h0m0s: rows that others delete stay"}}},
		{"old", measuresFrom(1, 0, 1, 100, 0, 1_200_000_000), api.Measures{DataBytes: 1,
			Readings: reading("connections", "1/100", "oldest transaction", "0s", "log", "0Mi", "wraparound", "56%"),
			Warnings: []string{"56% of the transaction IDs are used since the oldest row was frozen: vacuum it"}}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestTellMultixacts: they run out as transaction IDs do.
func TestTellMultixacts(t *testing.T) {
	t.Parallel()
	for age, want := range map[int64]api.Measures{
		1:           {},
		500_000_000: {Readings: []api.Reading{{Name: "multixacts", Value: "23%"}}},
		1_200_000_000: {Readings: []api.Reading{{Name: "multixacts", Value: "56%"}},
			Warnings: []string{"56% of the multixact IDs are used since the oldest row was frozen: vacuum it"}},
	} {
		var got api.Measures
		tellMultixacts(&got, age)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d: %s", age, diff)
		}
	}
}

// TestMeasurePrepared: a transaction without a client counts as open, and is named once it is old.
func TestMeasurePrepared(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	settings := protocol.Settings{Version: 1, Values: map[string]string{"max_prepared_transactions": "2"}}
	if err := m.settle(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	m.Serving = 1
	m.Must(protocol.Job{Kind: protocol.Promote, Generation: 1, Timeline: 2, Set: protocol.SyncSet{Version: 1},
		Settings: settings})
	m.sql("BEGIN; CREATE TABLE kept (id int); PREPARE TRANSACTION 'its half'")
	time.Sleep(1100 * time.Millisecond)
	got, err := m.Measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got.Readings, func(r api.Reading) bool { return r.Name == "oldest transaction" })
	if age, err := time.ParseDuration(got.Readings[i].Value); err != nil || age < time.Second {
		t.Errorf("the oldest transaction is open for %s: %v", age, err)
	}
	var old api.Measures
	if err := tellPrepared(&old, [][]string{{"young", "shop", "3599"}, {"its half", "shop", "7200"}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`the prepared transaction "its half" of the database "shop" has waited for 2h0m0s: what it ` +
		`locked stays locked; COMMIT PREPARED E'its half' or ROLLBACK PREPARED E'its half' ends it`}; !slices.Equal(
		old.Warnings, want) {
		t.Errorf("it warns of %q, want %q", old.Warnings, want)
	}
}

// TestMeasureTablespace: what is outside of the data directory is in no backup, and status tells it.
func TestMeasureTablespace(t *testing.T) {
	t.Parallel()
	m := newSite(t).open("m1")
	m.Must(protocol.Job{Kind: protocol.Initialise})
	m.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	m.Serve(1, 2, protocol.SyncSet{Version: 1})
	away := filepath.Join(m.Config.Directory, "away")
	if err := os.Mkdir(away, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sql, warned string }{
		{"SELECT 1", ""},
		{"CREATE TABLESPACE away LOCATION '" + away + "'", `the tablespace "away" is outside`},
		{"DROP TABLESPACE away", ""},
	} {
		m.sql(c.sql)
		got, err := m.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(got.Warnings, "; "); all != "" && c.warned == "" || !strings.Contains(all, c.warned) {
			t.Errorf("after %s: %q", c.sql, all)
		}
	}
}
