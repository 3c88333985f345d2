package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// TestOperatorLeavesDirectoriesAlone: an operator that meets what another machine
// began steps it back where that is possible, and says where to go on otherwise.
func TestOperatorLeavesDirectoriesAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(*v1alpha1.Operation)
		want   string
	}{
		{"a backup", func(op *v1alpha1.Operation) { op.Spec.Verb = v1alpha1.VerbBackup }, "continue back "},
		{"a backup to be verified", func(op *v1alpha1.Operation) {
			op.Spec.Verb, op.Status.Facts = v1alpha1.VerbBackup, map[string]string{v1alpha1.FactBackup: "one"}
		}, "continue back "},
		{"a backup on its way back", func(op *v1alpha1.Operation) {
			op.Spec.Verb, op.Status.Phase = v1alpha1.VerbBackup, v1alpha1.PhaseCancelling
		}, "continue "},
		{"an upgrade", func(op *v1alpha1.Operation) { op.Spec.Verb, op.Spec.Version = v1alpha1.VerbUpgrade, "1.0.0" },
			"continue back "},
		{"an upgrade whose backup was taken", func(op *v1alpha1.Operation) {
			op.Spec.Verb, op.Status.Facts = v1alpha1.VerbUpgrade, map[string]string{v1alpha1.FactBackup: "one"}
		}, "continue "},
		{"a backup in a claim", func(op *v1alpha1.Operation) {
			op.Spec.Verb, op.Spec.Repository = v1alpha1.VerbBackup,
				"pvc:backups"
		}, "continue "},
		{"a restore in place", func(op *v1alpha1.Operation) {
			op.Spec.Verb, op.Spec.Repository = v1alpha1.VerbRestore, ""
			op.Spec.Source = &v1alpha1.BackupSource{Repository: "dir:/home/ada/backups", Backup: "one"}
		}, "rest refused by directory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := charged()
			g.Active = opstest.Operation(v1alpha1.VerbBackup)
			g.Active.Spec.Repository = "dir:/home/ada/backups"
			g.Active.Spec.Version = g.Custom.Spec.Version
			row.change(g.Active)
			if g.Active.Spec.Verb == v1alpha1.VerbBackup {
				g.Active, g.Backup = nil, g.Active
			}
			if got := told(Next(g)); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}

// TestCheckRepositories: what can't be is told before anything of it is accepted.
func TestCheckRepositories(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"s3://x", "dir:/backups", "/backups", "pvc:", "./backups"} {
		for name, change := range map[string]func(*Input){
			"edited": func(g *Input) { g.Custom.Spec.Backup.Repository = url },
			"new":    func(g *Input) { g.Record, g.Custom.Spec.Backup.Repository = nil, url },
			"restored": func(g *Input) {
				g.Record, g.Custom.Spec.RestoreFrom = nil, &v1alpha1.RestoreSource{Repository: url, Backup: "b"}
			},
		} {
			g := charged()
			change(&g)
			m, err := Next(g)
			if m.SyncSettings || m.Request != nil || err == nil || ops.Refusal(err).Check != "repository" {
				t.Errorf("%s, %s: %+v, %v", url, name, m, err)
			}
			var e *ops.Error
			if !errors.As(ops.Refusal(err), &e) || !strings.Contains(e.Hint, "spec.") {
				t.Errorf("%s, %s: the hint does not name the field: %v", url, name, e)
			}
		}
	}
	g := charged()
	g.Custom.Spec.Backup.Repository = "pvc:backups/db"
	if m, err := Next(g); err != nil || !m.SyncSettings {
		t.Errorf("%+v, %v", m, err)
	}
}
