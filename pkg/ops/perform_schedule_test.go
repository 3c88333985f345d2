package ops

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// backedUpOften is a repository with scheduled backups s-1 (the oldest) and so on, and
// one by hand between them.
func backedUpOften(t *testing.T, n int) (*bench, *repository.Directory, []string) {
	t.Helper()
	b, repo := backingUp(t)
	b.op.Spec.Scheduled, b.op.Spec.Keep = true, 2
	var ids []string
	for i := range n + 1 {
		id := "db-2030010" + string(rune('1'+i)) + "T030405Z-0a1b"
		b.op.Spec.Backup, b.op.Spec.Scheduled = id, i != 1
		_, err := b.perform(backupStep())
		b.must(err)
		ids = append(ids, id)
	}
	b.op.Spec.Scheduled = true
	return b, repo, ids
}

func kept(b *bench, repo *repository.Directory) []string {
	b.t.Helper()
	all, err := repo.List(b.t.Context(), "db")
	b.must(err)
	var out []string
	for _, m := range all {
		out = append(out, m.ID)
	}
	slices.Sort(out)
	return out
}

func TestPrune(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	for range 2 { // a repeat finds nothing more to do
		r, err := b.perform(Step{Action: ActionPrune})
		b.must(err)
		if r.Facts[v1alpha1.FactPruned] == "" {
			t.Errorf("facts %v", r.Facts)
		}
		if diff := cmp.Diff([]string{ids[1], ids[3], ids[4]}, kept(b, repo)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestPruneSpares: backups that somebody is about to load, and those that
// nobody can read, stay.
func TestPruneSpares(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	other := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Name: "copy", Namespace: "shop"}}
	other.Spec.Engine, other.Spec.Members = "fakedb", 1
	other.Spec.RestoreFrom = &v1alpha1.RestoreSource{Repository: b.op.Spec.Repository, Backup: ids[0]}
	b.must(b.store().CreateCluster(t.Context(), other))
	at := strings.TrimPrefix(b.op.Spec.Repository, "dir:")
	b.must(os.WriteFile(at+"/"+ids[4]+".json", []byte("{"), 0o600))
	_, err := b.perform(Step{Action: ActionPrune})
	b.must(err)
	all, err := repo.List(t.Context(), "db")
	if !errors.Is(err, repository.ErrDamaged) || len(all) != 4 {
		t.Errorf("%d are left, %v", len(all), err)
	}
}

func TestPruneIsNoDryRun(t *testing.T) {
	b, repo, ids := backedUpOften(t, 4)
	l := b.live()
	l.ReadOnly = true
	if _, err := l.Perform(t.Context(), b.observe(l), Step{Action: ActionPrune}, nil); !errors.Is(err, engine.ErrReadOnly) {
		t.Error(err)
	}
	if len(kept(b, repo)) != len(ids) {
		t.Error("backups are gone")
	}
}

func TestNeeded(t *testing.T) {
	t.Parallel()
	source := func(phase v1alpha1.Phase, id string) v1alpha1.Operation {
		return v1alpha1.Operation{Spec: v1alpha1.OperationSpec{Source: &v1alpha1.BackupSource{Backup: id}}, Status: v1alpha1.OperationStatus{Phase: phase, StartedAt: metav1.NewTime(time.Now())}}
	}
	made := v1alpha1.DatabaseCluster{}
	made.Spec.RestoreFrom, made.Status.Formation = &v1alpha1.RestoreSource{Backup: "loaded"}, &v1alpha1.Formation{ClusterID: "id"}
	begun := v1alpha1.DatabaseCluster{}
	begun.Spec.RestoreFrom, begun.Status.Formation = &v1alpha1.RestoreSource{Backup: "loading"}, &v1alpha1.Formation{}
	got := Needed([]v1alpha1.DatabaseCluster{made, begun}, []v1alpha1.Operation{source(v1alpha1.PhasePaused, "paused"), source(v1alpha1.PhaseSucceeded, "done")})
	if diff := cmp.Diff(map[string]bool{"loading": true, "paused": true}, got); diff != "" {
		t.Error(diff)
	}
}
