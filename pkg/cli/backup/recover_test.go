package backup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// fall takes everything that my-db had.
func fall(b *clitest.Bench) {
	b.Cluster.Facts.Members, b.Cluster.View = nil, engine.View{}
}

// verified stamps a backup.
func verified(b *clitest.Bench, id string) {
	b.T.Helper()
	d, err := repository.NewDirectory(b.Dir + "/.local/share/kubectl-dbop/backups")
	if err == nil {
		err = d.AddProof(b.T.Context(), id, repository.Proof{Level: repository.LevelRestorable,
			Verification: repository.Verification{Time: clitest.Noon.Add(-23 * time.Hour), Version: "3.5.9"}})
	}
	if err != nil {
		b.T.Fatal(err)
	}
}

func TestRecoverWithQuorumIsUnchanged(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	r := b.Run("recover", "my-db")
	if r.Code != exit.Done || r.Out != "fakedb/my-db unchanged\n" ||
		!strings.Contains(r.Err, "nothing to recover from") || len(b.Writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s%s", r.Code, b.Writes, r.Out, r.Err)
	}
	if r := b.Run("recover", "my-db", "--error-unchanged"); r.Code != exit.Unchanged {
		t.Errorf("exit %d", r.Code)
	}
}

func TestRecoverAsksForTheName(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	verified(b, b.Backup("my-db"))
	fall(b)
	b.Tty, b.In = true, strings.NewReader("y\n")
	b.Golden("prompt_recover", b.Run("recover", "my-db"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"recover", "my-db", "--yes"}, exit.Usage, "--confirm my-db"},
		{[]string{"recover", "my-db", "--confirm", "other"}, exit.Usage, "the cluster's name"},
		{[]string{"recover", "my-db", "--method", "magic"}, exit.Usage, "bring-back"},
		{[]string{"recover", "my-db", "--from", "x"}, exit.Usage, "--method backup"},
		{[]string{"recover", "my-db", "--method", "backup", "--from", "my-db-20261120T120000Z-ffff"}, exit.NotFound,
			"no such backup"},
		{[]string{"recover", "my-db", "--method", "bring-back", "--yes"}, exit.Refused, "only 0 of 3 volumes exist"},
		{[]string{"recover", "my-db", "--method", "data", "--confirm", "my-db"}, exit.Refused,
			"can't start again from the data"},
	} {
		if r := b.Run(c.args...); r.Code != c.code || !strings.Contains(r.Err, c.says) {
			t.Errorf("%v: exit %d, want %d, %q\n%s", c.args, r.Code, c.code, c.says, r.Err)
		}
	}
	b.Tty = false
	if r := b.Run("recover", "my-db"); r.Code != exit.Usage || !strings.Contains(r.Err, "repeat with --confirm my-db") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	if len(b.Writes) > 0 {
		t.Fatalf("wrote %v", b.Writes)
	}
	if r := b.Run("recover", "my-db", "--confirm", "my-db", "--progress", "none"); r.Code != exit.Done ||
		r.Out != "fakedb/my-db recovered\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}

func TestRecoverTrustsOnlyVerifiedBackups(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	fall(b)
	r := b.Run("recover", "my-db", "--confirm", "my-db")
	if r.Code != exit.Refused || !strings.Contains(r.Err, "was ever verified; there are: "+id) || len(b.Writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s", r.Code, b.Writes, r.Err)
	}
	if r := b.Run("recover", "my-db", "--method", "backup", "--from", id, "--confirm", "my-db", "--progress",
		"none"); r.Code != exit.Done {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
}
