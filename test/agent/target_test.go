package agent

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	contract "github.com/dbop-dev/kubectl-dbop/pkg/engine"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/basebackup"
)

// TestTargets brings a backup to targets of every kind. What is not in the log is an error, and never other data.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := newSite(t, options{durability: protocol.Async, members: 1, engine: archiving{}})
	s.wait("a primary", func() bool { return s.primary() != nil })
	collector := s.collector(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- collector.Run(ctx) }()
	ask := func(statement string) string {
		t.Helper()
		got, err := s.awaitPrimary().ask("dbop", 10*time.Second, statement)
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", statement, got, err)
		}
		return got[0][0]
	}
	ask("CREATE TABLE kept (n int); SELECT pg_create_restore_point('early')")
	ask("INSERT INTO kept VALUES (1); SELECT pg_create_restore_point('twice')")
	start := ask("SELECT pg_current_wal_lsn()")
	backup := s.facts(s.awaitPrimary(), "base")
	ask("INSERT INTO kept VALUES (2) RETURNING n")
	ask("SELECT pg_create_restore_point('it''s $(HOME) %p')")
	// The next record is that of the commit.
	lsn := ask("INSERT INTO kept VALUES (3); SELECT pg_current_wal_insert_lsn()")
	xid := ask("INSERT INTO kept VALUES (4); SELECT pg_current_xact_id()")
	ask("SELECT pg_create_restore_point('twice')")
	at := ask(`SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`)
	ask("INSERT INTO kept VALUES (5); SELECT pg_create_restore_point('twice')")
	ask("SELECT pg_switch_wal()")
	end := time.Now()
	var w contract.LogWindow
	s.wait("the log to be archived", func() bool {
		w = s.window(t, collector, backup)
		return w.To.After(end)
	})
	stop()
	<-ended
	spool := s.spool(t, collector)
	last, err := basebackup.ParseLSN(w.End)
	if err != nil {
		t.Fatal(err)
	}
	unused := basebackup.FormatLSN(last - 8) // the file was switched before it was full
	for name, test := range map[string]struct {
		to   v1alpha1.RecoveryTarget
		want string
		says string
	}{
		"a name":               {to: v1alpha1.RecoveryTarget{Name: "it's $(HOME) %p"}, want: "1 2"},
		"the first of two":     {to: v1alpha1.RecoveryTarget{Name: "twice"}, want: "1 2 3 4"},
		"a place":              {to: v1alpha1.RecoveryTarget{LSN: lsn}, want: "1 2 3"},
		"before a place":       {to: v1alpha1.RecoveryTarget{LSN: lsn, Exclusive: true}, want: "1 2"},
		"a transaction":        {to: v1alpha1.RecoveryTarget{Transaction: xid}, want: "1 2 3 4"},
		"before a transaction": {to: v1alpha1.RecoveryTarget{Transaction: xid, Exclusive: true}, want: "1 2 3"},
		"before a moment":      {to: v1alpha1.RecoveryTarget{Time: at, Exclusive: true}, want: "1 2 3 4"},
		"all":                  {to: v1alpha1.RecoveryTarget{Time: v1alpha1.TargetLatest}, want: "1 2 3 4 5"},
		"a name that nobody gave": {to: v1alpha1.RecoveryTarget{Name: "never"},
			says: "restore point never was never reached"},
		"a name before the backup": {to: v1alpha1.RecoveryTarget{Name: "early"},
			says: "restore point early was never reached: the archived log of timeline " + w.Timeline},
		"a transaction to come": {to: v1alpha1.RecoveryTarget{Transaction: "4000000000"},
			says: "transaction 4000000000 was never reached"},
		"a place before the backup": {to: v1alpha1.RecoveryTarget{LSN: start},
			says: "comes before the backup is complete"},
		"a place behind the last record": {to: v1alpha1.RecoveryTarget{LSN: unused}, says: unused + " was never reached"},
		"a moment to come": {to: v1alpha1.RecoveryTarget{Time: "2100-01-01T00:00:00Z"},
			says: "2100-01-01T00:00:00Z was never reached"},
	} {
		t.Run(name, func(t *testing.T) {
			d := data{site: s, directory: filepath.Join(s.dir, strings.ReplaceAll(name, " ", "-"))}
			test.to.Timeline = w.Timeline
			err := d.forward(t, "base", spool, test.to)
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %q", err, test.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := d.ask(t, installed(t), [2]string{"postgres", "SELECT string_agg(n::text, ' ' ORDER BY n) FROM kept"})
			if got[0] != test.want {
				t.Errorf("it holds %s, want %s", got[0], test.want)
			}
		})
	}
	for name, place := range map[string]string{"before the backup": start, "behind the log": w.End, "no place": "0-1"} {
		if got, err := engines.New().CheckTarget(w, v1alpha1.RecoveryTarget{LSN: place}); err == nil {
			t.Errorf("%s: %s is taken as %v", name, place, got)
		}
	}
	if got, err := engines.New().CheckTarget(w, v1alpha1.RecoveryTarget{LSN: lsn}); err != nil || got.LSN != lsn {
		t.Errorf("%s is taken as %v, %v", lsn, got, err)
	}
}

// forward makes the data of a backup of the site, brought to a target.
func (d data) forward(t *testing.T, backup, spool string, to v1alpha1.RecoveryTarget) error {
	t.Helper()
	if err := engines.New().Unpack(t.Context(), filepath.Join(d.site.dir, backup), d.directory); err != nil {
		t.Fatal(err)
	}
	d.site.ownTree(d.directory)
	f := engines.Forward{Directory: d.directory, Bin: programs(t), Sockets: d.directory, Target: to,
		RestoreCommand: "cp " + spool + "/%f %p", Prepare: d.prepare(d.directory)}
	return f.Run(t.Context())
}
