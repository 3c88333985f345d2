package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
)

// logged is an engine whose log goes to "offsite".
type logged struct {
	opstest.Engine
	engine.LogArchiver
}

func (logged) ArchiveRepository(v1alpha1.DatabaseClusterSpec) string { return "offsite" }

// TestRestorable: the end of the archived log counts only where it goes on from the newest backup, and a proof only of
// that backup.
func TestRestorable(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 11, 28, 21, minute, 0, 0, time.UTC) }
	stamp := func(minute int) metav1.Time { return metav1.NewTime(at(minute)) }
	const id, older, token = "db-20261128T212000Z-0a1b", "db-20261127T212000Z-0a1b", "token"
	ref := func(id string, minute int) v1alpha1.BackupReference {
		return v1alpha1.BackupReference{Repository: "offsite", ID: id, Time: stamp(minute)}
	}
	age := func(of time.Time) string { return at(50).Sub(of).String() }
	for name, c := range map[string]struct {
		change func(st *v1alpha1.DatabaseClusterStatus, leader *engine.Member)
		engine engine.Engine
		until  time.Time
		text   string
	}{
		"the log": {
			until: at(40),
			text: "2026-11-28 21:40:00 UTC, 10m0s ago, by the newest backup and the log in offsite; " +
				"no proof of it is known",
		},
		"an engine without a log": {
			engine: opstest.Engine{}, until: at(20),
			text: "2026-11-28 21:20:00 UTC, 30m0s ago, as the newest backup has it; no proof of it is known",
		},
		"a record of before": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) {
				st.LastBackup.StartedAt, st.LastBackup.Log = nil, ""
			},
			until: at(22),
		},
		"a log of another incarnation": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) { st.LastBackup.Log = "former" },
			until:  at(20),
		},
		"a backup elsewhere": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) { st.LastBackup.Repository = "dir:/b" },
			until:  at(20),
		},
		"a log that ends before the backup": {
			change: func(_ *v1alpha1.DatabaseClusterStatus, m *engine.Member) { m.ArchivedUntil = at(21) },
			until:  at(20),
		},
		"a log with a gap behind the backup": {
			change: func(_ *v1alpha1.DatabaseClusterStatus, m *engine.Member) { m.ArchivedSince = at(30) },
			until:  at(20),
		},
		"a log with a gap before the backup": {
			change: func(_ *v1alpha1.DatabaseClusterStatus, m *engine.Member) { m.ArchivedSince = at(10) },
			until:  at(40),
		},
		"proven": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) {
				st.LastProof = &v1alpha1.BackupProof{BackupReference: ref(id, 45), Level: "intact"}
				st.LastVerifiedBackup = new(ref(older, 1))
			},
			until: at(40),
			text: "2026-11-28 21:40:00 UTC, 10m0s ago, by the newest backup and the log in offsite; " +
				"it was proven intact 5m0s ago",
		},
		"an older one was restored, by a program of before": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) {
				st.LastVerifiedBackup = new(ref(older, 1))
			},
			until: at(40),
			text: "2026-11-28 21:40:00 UTC, 10m0s ago, by the newest backup and the log in offsite; " +
				"no proof of it is known; " + older + " was proven restorable 49m0s ago",
		},
		"the last proof failed": {
			change: func(st *v1alpha1.DatabaseClusterStatus, _ *engine.Member) {
				st.LastProof = &v1alpha1.BackupProof{BackupReference: ref(id, 45), Level: "restorable"}
				st.FailedProof = &v1alpha1.FailedProof{Repository: "offsite", ID: id, Level: "restorable", Time: stamp(46)}
			},
			until: at(40),
			text: "2026-11-28 21:40:00 UTC, 10m0s ago, by the newest backup and the log in offsite; " +
				"its last proof failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opstest.Well(1)
			s.Cluster.Status.Bootstrap.Token = token
			s.Cluster.Status.LastBackup = &v1alpha1.BackupReference{Repository: "offsite", ID: id, Time: stamp(22),
				StartedAt: new(stamp(20)), Log: token}
			s.View.Members[0].ArchivedUntil = at(40)
			if c.change != nil {
				c.change(&s.Cluster.Status, &s.View.Members[0])
			}
			e := c.engine
			if e == nil {
				e = logged{}
			}
			r := RestorableOf(e, s)
			if diff := cmp.Diff(c.until, r.Until); diff != "" {
				t.Error(diff)
			}
			if got := r.Text(age); c.text != "" && got != c.text {
				t.Errorf("it says %q", got)
			}
		})
	}
	if r := RestorableOf(logged{}, ops.State{Cluster: &v1alpha1.DatabaseCluster{}}); r != nil {
		t.Errorf("without a backup it says %+v", r)
	}
}
