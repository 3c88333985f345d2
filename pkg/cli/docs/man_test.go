package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/golden"
)

func TestManual(t *testing.T) {
	b := clitest.New(t)
	dir := filepath.Join(t.TempDir(), "man")
	b.Must("reference", "--man", "--dir", dir)
	page, err := os.ReadFile(filepath.Join(dir, "kubectl-dbop-backup-verify.1"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "man_backup_verify", string(page))
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
			if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") &&
				!strings.Contains(" .TH .SH .PP .TP .B .BR .nf .fi ", " "+request+" ") {
				t.Errorf("%s:%d: %q is read as a request", filepath.Base(path), i+1, line)
			}
		}
		if strings.Contains(path, "helper") {
			t.Errorf("%s is of a hidden command", path)
		}
	}
	root, err := os.ReadFile(filepath.Join(dir, "kubectl-dbop.1"))
	if err != nil || !strings.Contains(string(root), "kubectl\\-dbop\\-create") ||
		!strings.Contains(string(root), `"kubectl-dbop v1.2.3"`) {
		t.Errorf("%v\n%s", err, root)
	}
}
