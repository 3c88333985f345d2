package cli

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestBackupVerify(t *testing.T) {
	b := newBench(t)
	id := b.backup("gone")
	if r := b.run("backup", "verify", id, "--progress", "none"); r.code != ExitDone || r.out != "backup/"+id+" verified\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := b.run("backup", "describe", id); !strings.Contains(r.out, "served by fakedb 3.5.9") {
		t.Errorf("not stamped:\n%s", r.out)
	}
}

func TestBackupVerifyTellsTheOutcome(t *testing.T) {
	b := newBench(t)
	id := b.backup("gone")
	b.verifyErr = errors.New("3 keys are missing")
	if r := b.run("backup", "verify", id, "--progress", "plain"); r.code != ExitFailed || r.out != "" || !strings.Contains(r.err, "3 keys are missing") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	b.verifying = func() {}
	if r := b.run("backup", "verify", id, "--timeout", "50ms", "--progress", "none"); r.code != ExitTimedOut {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	b.verifying = func() { b.signals <- os.Interrupt }
	if r := b.run("backup", "verify", id, "--progress", "none"); r.code != ExitInterrupted {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}
