package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
)

// TestAsked: what an object asks for is what a command would, with its name to it.
func TestAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		of, here, want string
		verify         bool
	}{
		{"pvc:daily", "", "pvc:daily", false},
		{"pvc:daily", "pvc:extra/db", "pvc:extra/db", true},
		{"", "pvc:extra", "pvc:extra", false},
		{"", "", "", false},
	} {
		g := charged()
		// What is wanted counts, not what was accepted: a schedule that moves is an operation of its own.
		g.Record.Spec.Backup.Repository, g.Custom.Spec.Backup.Repository = "pvc:old", row.of
		g.Custom.Spec.Backup.Schedule, g.Record.Spec.Backup.Schedule = "@daily", "@daily"
		g.Backups = asking()
		g.Backups[0].Spec.Repository, g.Backups[0].Spec.Verify = row.here, row.verify
		m, err := Next(g)
		if err != nil || m.Request == nil || m.Asked != "uid-of-first" {
			t.Fatalf("%+v: %+v, %v", row, m, err)
		}
		want := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup,
			RequestedBy: "operator: databasebackup first",
			Repository:  row.want, BackupParameters: v1alpha1.BackupParameters{Verify: row.verify, Object: "uid-of-first"}}
		if diff := cmp.Diff(want, m.Request.Operation); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", row, diff)
		}
	}
}
