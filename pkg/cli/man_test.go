package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManual(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(t.TempDir(), "man")
	b.must("reference", "--man", "--dir", dir)
	page, err := os.ReadFile(filepath.Join(dir, "kubectl-dbop-backup-verify.1"))
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "man_backup_verify", string(page))
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(raw), "\n") {
			request, _, _ := strings.Cut(line, " ")
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !strings.Contains(" .TH .SH .PP .TP .B .BR .nf .fi ", " "+request+" ") {
				t.Errorf("%s:%d: %q is read as a request", filepath.Base(path), i+1, line)
			}
		}
		if strings.Contains(path, "helper") {
			t.Errorf("%s is of a hidden command", path)
		}
	}
	root, err := os.ReadFile(filepath.Join(dir, "kubectl-dbop.1"))
	if err != nil || !strings.Contains(string(root), "kubectl\\-dbop\\-create") || !strings.Contains(string(root), `"kubectl-dbop v1.2.3"`) {
		t.Errorf("%v\n%s", err, root)
	}
}

func TestRoff(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"--dry-run":        `\-\-dry\-run`,
		`a\b`:              `a\eb`,
		".hidden\n'quoted": "\\&.hidden\n\\&'quoted",
		"one\n.PP\ntwo":    "one\n.PP\ntwo",
	} {
		if got := roff(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
