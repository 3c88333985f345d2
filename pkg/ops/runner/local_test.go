package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/opener"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops/planner"
)

// TestDelegatingRunnerActsOnItsOwnDirectory: what is written to a directory of the
// caller's machine is carried out there, also while an operator is alive.
func TestDelegatingRunnerActsOnItsOwnDirectory(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"dir:/home/ada/backups", "pvc:backups/db"} {
		onShelf(t, func(sh *shelf, r *Runner) {
			b, h := delegating(sh, r, true)
			b.Mounted = map[string]string{"pvc:backups/db": "/repository"} // as in the pod of a scheduled backup
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			o := v1alpha1.OperationSpec{Cluster: "db", Verb: v1alpha1.VerbBackup, Repository: url, Backup: "one"}
			op, err := b.Run(ctx, "shop", planner.Request{Operation: o})
			if err != nil || op.Status.Phase != v1alpha1.PhaseSucceeded {
				t.Errorf("%v, %+v", err, op)
			}
			if len(h.lines) == 0 || !strings.Contains(h.lines[0], url+" is a directory of this machine") {
				t.Errorf("told %q", h.lines)
			}
		})
	}
}

// TestOperatorOpensNoDirectory: what is in the operator's own pod is no repository.
func TestOperatorOpensNoDirectory(t *testing.T) {
	t.Parallel()
	r := &opener.Repositories{NoDirectories: true}
	if _, err := r.Open(t.Context(), "shop", "dir:"+t.TempDir()); ops.KindOf(err) != ops.Refused {
		t.Errorf("%v", err)
	}
	dir := t.TempDir()
	r.Mounted = map[string]string{"pvc:backups": dir}
	if repo, err := r.Open(t.Context(), "shop", "pvc:backups"); err != nil || repo.Close() != nil {
		t.Errorf("a mounted claim: %v", err)
	}
}
