//go:build linux

package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestMeasureObstacles names what pg_upgrade refuses, and nothing once its statements ended it.
func TestMeasureObstacles(t *testing.T) {
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
	m.sql("CREATE TABLE t (id int)")
	m.sql("BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'it''s half'")
	m.sql(`CREATE DATABASE "a half"`)
	m.sql("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'a half'")
	want := []api.Obstacle{
		{What: `the prepared transaction "it's half" of the database "postgres"`, Database: "postgres",
			Statements: []string{`COMMIT PREPARED E'it\'s half'`, `ROLLBACK PREPARED E'it\'s half'`}},
		{What: `what an interrupted DROP DATABASE left of "a half"`, Statements: []string{`DROP DATABASE "a half"`}},
	}
	for range 2 {
		got, err := m.Measure(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Obstacles); diff != "" {
			t.Errorf("it names (-want +got):\n%s", diff)
		}
		for _, o := range got.Obstacles {
			m.sql(o.Statements[0])
		}
		want = nil
	}
}
