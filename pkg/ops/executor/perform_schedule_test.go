package executor

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backedUpOften is a repository with scheduled backups s-1 (the oldest) and so on, and
// one by hand between them.
func backedUpOften(t *testing.T, n int) (*opstest.Bench, *repository.Directory, []string) {
	t.Helper()
	b, repo := backingUp(t)
	b.Op.Spec.Scheduled, b.Op.Spec.Keep = true, 2
	var ids []string
	for i := range n + 1 {
		id := "db-2030010" + string(rune('1'+i)) + "T030405Z-0a1b"
		b.Op.Spec.Backup, b.Op.Spec.Scheduled = id, i != 1
		_, err := perform(b, backupStep())
		b.Must(err)
		ids = append(ids, id)
	}
	b.Op.Spec.Scheduled = true
	return b, repo, ids
}

func kept(b *opstest.Bench, repo *repository.Directory) []string {
	b.T.Helper()
	all, err := repo.List(b.T.Context(), "db")
	b.Must(err)
	var out []string
	for _, m := range all {
		out = append(out, m.ID)
	}
	slices.Sort(out)
	return out
}

func TestPrune(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	told := b.Cluster()
	told.Status.FailedProof = &v1alpha1.FailedProof{Repository: repo.URL(), ID: ids[0]}
	told.Status.LastVerifiedBackup = &v1alpha1.BackupReference{Repository: repo.URL(), ID: ids[3]}
	b.Must(b.Store().UpdateCluster(t.Context(), told))
	for range 2 { // a repeat finds nothing more to do
		r, err := perform(b, ops.Step{Action: ops.ActionPrune})
		b.Must(err)
		if r.Facts[v1alpha1.FactPruned] == "" {
			t.Errorf("facts %v", r.Facts)
		}
		if diff := cmp.Diff([]string{ids[1], ids[3], ids[4]}, kept(b, repo)); diff != "" {
			t.Error(diff)
		}
	}
	if st := b.Cluster().Status; st.FailedProof != nil || st.LastVerifiedBackup == nil {
		t.Errorf("it tells of proofs %+v, %+v", st.FailedProof, st.LastVerifiedBackup)
	}
}

// TestPruneSpares: backups that somebody is about to load, and those that
// nobody can read, stay.
func TestPruneSpares(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	other := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "copy", Namespace: "shop"}}
	other.Spec.Engine, other.Spec.Members = "fakedb", 1
	other.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: b.Op.Spec.Repository, Backup: ids[0]}
	b.Must(b.Store().CreateCluster(t.Context(), other))
	at := strings.TrimPrefix(b.Op.Spec.Repository, "dir:")
	b.Must(os.WriteFile(at+"/"+ids[4]+".json", []byte("{"), 0o600))
	_, err := perform(b, ops.Step{Action: ops.ActionPrune})
	b.Must(err)
	all, err := repo.List(t.Context(), "db")
	if !errors.Is(err, repository.ErrDamaged) || len(all) != 4 {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

func TestPruneIsNoDryRun(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	l := liveOf(b)
	l.ReadOnly = true
	if _, err := l.Perform(t.Context(), observation(b, l), ops.Step{Action: ops.ActionPrune}, nil); !errors.Is(err,
		engine.ErrReadOnly) {
		t.Error(err)
	}
	if len(kept(b, repo)) != len(ids) {
		t.Error("backups are gone")
	}
}
