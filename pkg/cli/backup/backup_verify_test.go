package backup_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestBackupVerify(t *testing.T) {
	b := clitest.New(t)
	id := b.Backup("gone")
	if r := b.Run("backup", "verify", id, "--progress", "none"); r.Code != exit.Done ||
		r.Out != "backup/"+id+" verified\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("backup", "describe", id); !strings.Contains(r.Out, "served by fakedb 3.5.9; pages by fakecheck") {
		t.Errorf("not stamped:\n%s", r.Out)
	}
}

func TestBackupVerifyTellsTheOutcome(t *testing.T) {
	b := clitest.New(t)
	id := b.Backup("gone")
	b.VerifyErr = errors.New("3 keys are missing")
	if r := b.Run("backup", "verify", id, "--progress", "plain"); r.Code != exit.Failed || r.Out != "" ||
		!strings.Contains(r.Err, "3 keys are missing") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	b.Verifying = func() {}
	if r := b.Run("backup", "verify", id, "--timeout", "50ms", "--progress", "none"); r.Code != exit.TimedOut {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	b.Verifying = func() { b.Signals <- os.Interrupt }
	if r := b.Run("backup", "verify", id, "--progress", "none"); r.Code != exit.Interrupted {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}
