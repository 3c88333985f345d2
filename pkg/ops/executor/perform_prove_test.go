package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/ops"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// TestProve: a backup whose bytes are right is proven, and one with a byte that is not is refused.
func TestProve(t *testing.T) {
	b, _ := backingUp(t)
	_, err := perform(b, backupStep())
	b.Must(err)
	b.Op.Spec.Source = &v1alpha1.BackupSource{Repository: b.Op.Spec.Repository, Backup: backupID}
	step := ops.Step{Action: ops.ActionProveBackup}
	r, err := perform(b, step)
	if err != nil || r.Facts[v1alpha1.FactProven] != backupID {
		t.Fatalf("facts %v, %v", r.Facts, err)
	}
	file := filepath.Join(strings.TrimPrefix(b.Op.Spec.Repository, "dir:"), backupID+".snapshot")
	content, err := os.ReadFile(file)
	b.Must(err)
	content[len(content)/2] ^= 1
	b.Must(os.WriteFile(file, content, 0o600))
	if r, err := perform(b, step); !errors.Is(err, repository.ErrDamaged) || r.Facts[v1alpha1.FactProven] != "" {
		t.Errorf("facts %v, %v", r.Facts, err)
	}
}
