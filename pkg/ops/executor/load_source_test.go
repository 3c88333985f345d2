package executor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/helper"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opstest"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

func TestForwardOf(t *testing.T) {
	t.Parallel()
	m := repository.Manifest{Namespace: "ns", Cluster: "db", Incarnation: "token"}
	rest := []string{"--timeline", "2", "--log-repository", helper.MountedRepository, "--log-namespace", "ns",
		"--log-cluster", "db", "--log-incarnation", "token"}
	for name, test := range map[string]struct {
		to   v1alpha1.RecoveryTarget
		want []string
	}{
		"a moment":       {v1alpha1.RecoveryTarget{Time: "latest"}, []string{"--to-time", "latest"}},
		"before a place": {v1alpha1.RecoveryTarget{LSN: "0/1", Exclusive: true}, []string{"--to-lsn", "0/1", "--exclusive"}},
		"a transaction":  {v1alpha1.RecoveryTarget{Transaction: "7"}, []string{"--to-transaction", "7"}},
		"a name that a kubelet would change": {v1alpha1.RecoveryTarget{Name: "$(HOME)"},
			[]string{"--to-name", "$$(HOME)"}},
	} {
		test.to.Timeline = "2"
		if d := cmp.Diff(append(test.want, rest...), forwardOf(test.to, m)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if got := forwardOf(v1alpha1.RecoveryTarget{Timeline: "2"}, m); got != nil {
		t.Errorf("without a target: %v", got)
	}
}

// TestTargetWithoutLog: no driver restores to a target where no log is archived, whatever asked for it.
func TestTargetWithoutLog(t *testing.T) {
	b := restoring(t, nil)
	c := b.Cluster()
	c.Spec.RestoreFrom.Target.Name = "here"
	b.Must(b.Store().UpdateCluster(t.Context(), c))
	l := liveOf(b)
	s := observation(b, l)
	s.Operation = opstest.Operation(v1alpha1.VerbRestore)
	s.Operation.Spec.Source = &v1alpha1.BackupSource{Repository: c.Spec.RestoreFrom.Repository, Backup: backupID,
		Target: c.Spec.RestoreFrom.Target}
	_, performed := perform(b, loadStep())
	for name, err := range map[string]error{"planned": l.Rehearse(t.Context(), s, loadStep()), "performed": performed} {
		if ops.KindOf(err) != ops.Refused || !strings.Contains(err.Error(), "no log is archived beside backup") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b.Helper("db-1-load") != nil {
		t.Error("a pod loads it")
	}
}
