package backup_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
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

// TestBackupVerifyLevels: what is asked for is proven, and a list tells it, or what failed.
func TestBackupVerifyLevels(t *testing.T) {
	b := clitest.New(t)
	id := b.Backup("gone")
	list := func(want string) {
		t.Helper()
		if r := b.Run("backup", "list"); !strings.Contains(r.Out, want) {
			t.Errorf("no %q in\n%s%s", want, r.Out, r.Err)
		}
	}
	for _, level := range []string{"present", "intact"} {
		if r := b.Run("backup", "verify", id, "--level", level, "--progress", "none"); r.Code != exit.Done {
			t.Fatalf("exit %d\n%s%s", r.Code, r.Out, r.Err)
		}
		list(level + " ")
	}
	d, err := repository.NewDirectory(b.Dir + "/.local/share/kubectl-dbop/backups")
	if err == nil {
		err = d.AddProof(t.Context(), id, repository.Proof{Level: repository.LevelIntact, Failed: true,
			Reason: "a byte is wrong", Verification: repository.Verification{Time: clitest.Noon}})
	}
	if err != nil {
		t.Fatal(err)
	}
	list("FAILED intact ")
	if r := b.Run("backup", "describe", id); !strings.Contains(r.Out, "it is not intact: a byte is wrong") {
		t.Errorf("not described:\n%s", r.Out)
	}
	if r := b.Run("backup", "verify", id, "--level", "whole"); r.Code != exit.Usage ||
		!strings.Contains(r.Err, "--level is one of present, intact, restorable") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
