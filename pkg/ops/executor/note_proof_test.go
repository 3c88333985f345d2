package executor

import (
	"context"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube/store"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

// busyStore is a store where somebody else wrote the cluster meanwhile, once.
type busyStore struct {
	store.Store

	refused bool
}

func (s *busyStore) UpdateCluster(ctx context.Context, c *v1alpha1.DatabaseCluster) error {
	if !s.refused {
		s.refused = true
		return kube.ErrConflict
	}
	return s.Store.UpdateCluster(ctx, c)
}

// TestNoteProof: what was verified outside of an operation counts where it is of the cluster as it is now.
func TestNoteProof(t *testing.T) {
	const older, newer = "db-20290102T030405Z-0a1b", "db-20310102T030405Z-0a1b"
	for name, c := range map[string]struct {
		manifest func(*repository.Manifest)
		known    string
		want     string
	}{
		"the first":              {nil, "", backupID},
		"newer than the last":    {nil, older, backupID},
		"the last, once more":    {nil, backupID, backupID},
		"older than the last":    {nil, newer, newer},
		"of another incarnation": {func(m *repository.Manifest) { m.Incarnation = "former" }, older, older},
		"of another namespace":   {func(m *repository.Manifest) { m.Namespace = "elsewhere" }, "", ""},
		"of something else":      {func(m *repository.Manifest) { m.Incarnation = "" }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := plain(t)
			known := b.Cluster()
			if c.known != "" {
				known.Status.LastVerifiedBackup = &v1alpha1.BackupReference{ID: c.known}
				b.Must(b.Store().UpdateCluster(t.Context(), known))
			}
			repo := stored(b, func(m *repository.Manifest) {
				m.Namespace, m.Incarnation = known.Namespace, known.Status.Bootstrap.Token
				if c.manifest != nil {
					c.manifest(m)
				}
			})
			l := liveOf(b)
			busy := &busyStore{Store: l.Store}
			l.Store = busy
			b.Must(l.NoteProof(t.Context(), repo, Proving{Backup: backupID, Level: repository.LevelRestorable}, nil))
			if busy.refused != (c.want == backupID) {
				t.Errorf("written: %t", busy.refused)
			}
			got := ""
			if last := b.Cluster().Status.LastVerifiedBackup; last != nil {
				got = last.ID
				if got == backupID && (last.Repository != repo.URL() || last.Time.IsZero()) {
					t.Errorf("noted %+v", last)
				}
			}
			if got != c.want {
				t.Errorf("noted %q, want %q", got, c.want)
			}
		})
	}
}

// TestNoteProofOfAClusterThatIsGone does nothing: its backups outlive it.
func TestNoteProofOfAClusterThatIsGone(t *testing.T) {
	b := plain(t)
	repo := stored(b, nil)
	l := liveOf(b)
	l.Name = "gone"
	b.Must(l.NoteProof(t.Context(), repo, Proving{Backup: backupID, Level: repository.LevelRestorable}, nil))
}

// TestAnswer: a proof that failed is let go once one succeeds that says more.
func TestAnswer(t *testing.T) {
	const older, newer = "db-20290102T030405Z-0a1b", "db-20310102T030405Z-0a1b"
	for name, c := range map[string]struct {
		proven Proving
		gone   bool
	}{
		"the same":               {Proving{Backup: backupID, Level: repository.LevelIntact}, true},
		"more of the same":       {Proving{Backup: backupID, Level: repository.LevelRestorable}, true},
		"less of the same":       {Proving{Backup: backupID, Level: repository.LevelPresent}, false},
		"a newer one":            {Proving{Backup: newer, Level: repository.LevelRestorable}, true},
		"a newer one, only read": {Proving{Backup: newer, Level: repository.LevelIntact}, false},
		"an older one":           {Proving{Backup: older, Level: repository.LevelRestorable}, false},
	} {
		cluster := &v1alpha1.DatabaseCluster{}
		cluster.Status.FailedProof = &v1alpha1.FailedProof{ID: backupID, Level: "intact"}
		answer(cluster, c.proven)
		if gone := cluster.Status.FailedProof == nil; gone != c.gone {
			t.Errorf("%s: gone %t", name, gone)
		}
	}
}

// TestOfThisHistory: an object store tells of the incarnation for databases with a log alone, and shortens long tokens.
func TestOfThisHistory(t *testing.T) {
	long := strings.Repeat("incarnation-", 5)
	for name, c := range map[string]struct {
		token, incarnation, id string
		format                 int
		want                   bool
	}{
		"a directory":                     {"a", "a", "7", 1, true},
		"a directory, another one":        {"a", "b", "7", 1, false},
		"a directory, nothing":            {"a", "", "7", 1, false},
		"a bucket":                        {"a", "a", "7", 2, true},
		"a bucket, a long token":          {long, bucket.Incarnation(long), "7", 2, true},
		"a bucket, another one":           {"a", "b", "7", 2, false},
		"a bucket, no log":                {"a", "", "7", 2, true},
		"a bucket, no log, another one":   {"a", "", "8", 2, false},
		"a bucket, no log, not yet known": {"a", "", "", 2, false},
	} {
		cluster := &v1alpha1.DatabaseCluster{}
		cluster.Status.Bootstrap = &v1alpha1.Bootstrap{Token: c.token, ClusterID: "7"}
		if c.id == "" {
			cluster.Status.Bootstrap.ClusterID = ""
		}
		m := repository.Manifest{Format: c.format, Incarnation: c.incarnation, ClusterID: c.id}
		if got := ofThisHistory(cluster, m); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestProofsOfBackups: of two proofs of one backup the higher level counts, and of two backups the newer one.
func TestProofsOfBackups(t *testing.T) {
	const older, newer = "db-20290102T030405Z-0a1b", "db-20310102T030405Z-0a1b"
	const present, intact, restorable = repository.LevelPresent, repository.LevelIntact, repository.LevelRestorable
	for name, c := range map[string]struct {
		known, proven Proving
		level         repository.Level
		id            string
	}{
		"the first":        {Proving{}, Proving{backupID, present, ""}, present, backupID},
		"more of the same": {Proving{backupID, present, ""}, Proving{backupID, intact, ""}, intact, backupID},
		"less of the same": {Proving{backupID, intact, ""}, Proving{backupID, present, ""}, intact, backupID},
		"less of a newer":  {Proving{backupID, restorable, ""}, Proving{newer, present, ""}, present, newer},
		"more of an older": {Proving{backupID, present, ""}, Proving{older, restorable, ""}, present, backupID},
		"of a former name": {Proving{"x-20310102T030405Z-0a1b", intact, ""}, Proving{backupID, intact, ""}, intact, backupID},
	} {
		cluster := &v1alpha1.DatabaseCluster{}
		if c.known.Backup != "" {
			prove(cluster, c.known, &v1alpha1.BackupReference{ID: c.known.Backup})
		}
		prove(cluster, c.proven, &v1alpha1.BackupReference{ID: c.proven.Backup})
		if got := cluster.Status.LastProof; got.ID != c.id || got.Level != string(c.level) {
			t.Errorf("%s: %+v", name, got)
		}
		verified := cluster.Status.LastVerifiedBackup
		if want := c.known.Level == restorable || c.proven.Level == restorable; (verified != nil) != want {
			t.Errorf("%s: verified is %+v", name, verified)
		}
	}
}
