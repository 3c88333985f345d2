package cli

import (
	"strings"
	"testing"
)

func TestWithoutTerminalAskingIsRefused(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	id := b.backup("my-db")
	for _, args := range [][]string{
		{"delete", "my-db"}, {"delete", "my-db", "--purge"}, {"remove-member", "my-db", "my-db-3"}, {"backup", "delete", id},
		{"restore", "my-db", "--in-place", "--from", id},
	} {
		r := b.run(args...)
		if r.code != ExitUsage || !strings.Contains(r.err, "--yes") {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.err)
		}
	}
	if len(b.writes) > 0 {
		t.Errorf("wrote %v", b.writes)
	}
}

func TestAnswers(t *testing.T) {
	for _, test := range []struct {
		name, answer string
		args         []string
		code         int
	}{
		{"yes", "y\n", []string{"delete", "my-db"}, ExitDone},
		{"yes in full", "Yes\n", []string{"delete", "my-db"}, ExitDone},
		{"no", "n\n", []string{"delete", "my-db"}, ExitFailed},
		{"nothing", "\n", []string{"delete", "my-db"}, ExitFailed},
		{"end of input", "", []string{"delete", "my-db"}, ExitFailed},
		{"name for a purge", "my-db\n", []string{"delete", "my-db", "--purge"}, ExitDone},
		{"yes for a purge", "y\n", []string{"delete", "my-db", "--purge"}, ExitFailed},
		{"yes for a member", "y\n", []string{"remove-member", "my-db", "my-db-3"}, ExitDone},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.cluster("my-db")
			b.tty, b.in = true, strings.NewReader(test.answer)
			r := b.run(append(test.args, "--progress", "none")...)
			if r.code != test.code {
				t.Errorf("exit %d, want %d\n%s", r.code, test.code, r.err)
			}
			if test.code != ExitDone && len(b.writes) > 0 {
				t.Errorf("wrote %v", b.writes)
			}
		})
	}
}

func TestPromptsSayWhatIsLost(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	id := b.backup("my-db")
	for name, args := range map[string][]string{
		"delete": {"delete", "my-db"}, "purge": {"delete", "my-db", "--purge", "--skip-backup"}, "remove": {"remove-member", "my-db", "my-db-3"},
		"backup": {"backup", "delete", id}, "in_place": {"restore", "my-db", "--in-place", "--from", id},
	} {
		b.tty, b.in = true, strings.NewReader("n\n")
		b.golden("prompt_"+name, b.run(args...))
	}
}

func TestAWrongMemberIsNoOtherMember(t *testing.T) {
	b := newBench(t)
	b.cluster("my-db")
	r := b.run("remove-member", "my-db", "my-db-9", "--yes")
	if r.code != ExitUsage || !strings.Contains(r.err, "my-db-9") || len(b.writes) > 0 {
		t.Errorf("exit %d, wrote %v\n%s", r.code, b.writes, r.err)
	}
}
