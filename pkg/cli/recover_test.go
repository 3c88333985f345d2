package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

// fall takes everything that my-db had.
func (b *bench) fall() {
	b.world.facts.Members, b.world.view = nil, engine.View{}
}

// verified stamps a backup.
func (b *bench) verified(id string) {
	b.t.Helper()
	d, err := repository.NewDirectory(b.dir + "/.local/share/kubectl-dbop/backups")
	if err == nil {
		err = d.MarkVerified(b.t.Context(), id, repository.Verification{Time: noon.Add(-23 * time.Hour), Version: "3.5.9"})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestRecoverWithQuorumIsUnchanged(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	r := b.run("recover", "my-db")
	if r.code != ExitDone || r.out != "fakedb/my-db unchanged\n" || !strings.Contains(r.err, "nothing to recover from") || len(b.writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s%s", r.code, b.writes, r.out, r.err)
	}
	if r := b.run("recover", "my-db", "--error-unchanged"); r.code != ExitUnchanged {
		t.Errorf("exit %d", r.code)
	}
}

func TestRecoverAsksForTheName(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	b.verified(b.backup("my-db"))
	b.fall()
	b.tty, b.in = true, strings.NewReader("y\n")
	b.golden("prompt_recover", b.run("recover", "my-db"))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"recover", "my-db", "--yes"}, ExitUsage, "--confirm my-db"},
		{[]string{"recover", "my-db", "--confirm", "other"}, ExitUsage, "the cluster's name"},
		{[]string{"recover", "my-db", "--method", "magic"}, ExitUsage, "bring-back"},
		{[]string{"recover", "my-db", "--from", "x"}, ExitUsage, "--method backup"},
		{[]string{"recover", "my-db", "--method", "backup", "--from", "my-db-20261120T120000Z-ffff"}, ExitNotFound, "no such backup"},
		{[]string{"recover", "my-db", "--method", "bring-back", "--yes"}, ExitRefused, "only 0 of 3 volumes exist"},
		{[]string{"recover", "my-db", "--method", "data", "--confirm", "my-db"}, ExitRefused, "can't begin anew from the data"},
	} {
		if r := b.run(c.args...); r.code != c.code || !strings.Contains(r.err, c.says) {
			t.Errorf("%v: exit %d, want %d, %q\n%s", c.args, r.code, c.code, c.says, r.err)
		}
	}
	b.tty = false
	if r := b.run("recover", "my-db"); r.code != ExitUsage || !strings.Contains(r.err, "repeat with --confirm my-db") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if len(b.writes) > 0 {
		t.Fatalf("wrote %v", b.writes)
	}
	if r := b.run("recover", "my-db", "--confirm", "my-db", "--progress", "none"); r.code != ExitDone || r.out != "fakedb/my-db recovered\n" {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

func TestRecoverTrustsOnlyVerifiedBackups(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	id := b.backup("my-db")
	b.fall()
	r := b.run("recover", "my-db", "--confirm", "my-db")
	if r.code != ExitRefused || !strings.Contains(r.err, "was ever verified; there are: "+id) || len(b.writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s", r.code, b.writes, r.err)
	}
	if r := b.run("recover", "my-db", "--method", "backup", "--from", id, "--confirm", "my-db", "--progress", "none"); r.code != ExitDone {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}
