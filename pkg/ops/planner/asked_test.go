package planner

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

func TestCheckAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ object, repository, want string }{
		{"uid", "pvc:backups", ""},
		{"uid", "pvc:backups/db", ""},
		{"uid", "", "neither this object nor databasecluster db names a repository"},
		{"uid", "dir:/tmp", "dir:/tmp is a directory of one machine"},
		{"uid", "pvc:", "not a repository"},
		{"", "dir:/tmp", ""}, // a person's own
	} {
		s := opstest.Well(3)
		r := Request{Operation: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup,
			BackupParameters: v1alpha1.BackupParameters{Object: row.object},
			Repository:       row.repository}}
		err := Check(opstest.Stub{}, r, s.Cluster)
		if row.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", row, err)
			}
			continue
		}
		refusal, ok := ops.AsError(err)
		if !ok || refusal.Check != "repository" || !strings.Contains(refusal.Message, row.want) ||
			!strings.Contains(refusal.Hint, "make another one with spec.repository") {
			t.Errorf("%+v: %v", row, err)
		}
	}
}

// TestSameAsked: a command that asks for a backup continues that of an object;
// an object has a backup of its own.
func TestSameAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		active, asks string
		want         bool
	}{{"", "", true}, {"one", "one", true}, {"one", "", true}, {"", "one", false}, {"two", "one", false}} {
		op := &v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup,
			Repository:       "pvc:b",
			BackupParameters: v1alpha1.BackupParameters{Object: row.active}}}
		if got := Verbs().Same(op, v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: "pvc:b",
			BackupParameters: v1alpha1.BackupParameters{Object: row.asks}}); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}
