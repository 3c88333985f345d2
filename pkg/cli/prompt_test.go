package cli_test

import (
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestWithoutTerminalAskingIsRefused(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	for _, args := range [][]string{
		{"delete", "my-db"}, {"delete", "my-db", "--purge"}, {"member", "remove", "my-db", "my-db-3"},
		{"backup", "delete", id},
		{"restore", "my-db", "--in-place", "--from", id},
	} {
		r := b.Run(args...)
		if r.Code != exit.Usage || !strings.Contains(r.Err, "--yes") {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
	}
	if len(b.Writes) > 0 {
		t.Errorf("wrote %v", b.Writes)
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		args         []string
		code         int
	}{
		{"yes", "y\n", []string{"delete", "my-db"}, exit.Done},
		{"yes in full", "Yes\n", []string{"delete", "my-db"}, exit.Done},
		{"no", "n\n", []string{"delete", "my-db"}, exit.Failed},
		{"nothing", "\n", []string{"delete", "my-db"}, exit.Failed},
		{"end of input", "", []string{"delete", "my-db"}, exit.Failed},
		{"name for a purge", "my-db\n", []string{"delete", "my-db", "--purge"}, exit.Done},
		{"yes for a purge", "y\n", []string{"delete", "my-db", "--purge"}, exit.Failed},
		{"yes for a member", "y\n", []string{"member", "remove", "my-db", "my-db-3"}, exit.Done},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := clitest.New(t)
			b.CreateCluster("my-db")
			b.Tty, b.In = true, strings.NewReader(test.answer)
			r := b.Run(append(test.args, "--progress", "none")...)
			if r.Code != test.code {
				t.Errorf("exit %d, want %d\n%s", r.Code, test.code, r.Err)
			}
			if test.code != exit.Done && len(b.Writes) > 0 {
				t.Errorf("wrote %v", b.Writes)
			}
		})
	}
}

func TestPromptsSayWhatIsLost(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	id := b.Backup("my-db")
	for name, args := range map[string][]string{
		"delete": {"delete", "my-db"}, "purge": {"delete", "my-db", "--purge", "--skip-backup"},
		"remove": {"member", "remove", "my-db", "my-db-3"},
		"backup": {"backup", "delete", id}, "in_place": {"restore", "my-db", "--in-place", "--from", id},
	} {
		b.Tty, b.In = true, strings.NewReader("n\n")
		b.Golden("prompt_"+name, b.Run(args...))
	}
}

func TestAWrongMemberIsNoOtherMember(t *testing.T) {
	b := clitest.New(t)
	b.CreateCluster("my-db")
	r := b.Run("member", "remove", "my-db", "my-db-9", "--yes")
	if r.Code != exit.Usage || !strings.Contains(r.Err, "my-db-9") || len(b.Writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s", r.Code, b.Writes, r.Err)
	}
}
