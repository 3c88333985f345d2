package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/golden"
)

func TestReference(t *testing.T) {
	b := clitest.New(t)
	dir := filepath.Join(t.TempDir(), "reference")
	b.Must("reference", "--dir", dir)
	stale := filepath.Join(dir, "dbop_gone.md")
	if err := os.WriteFile(stale, []byte("gone"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Must("reference", "--dir", dir)
	if _, err := os.Stat(stale); err == nil {
		t.Error("the page of a command that is gone stays")
	}
	page, err := os.ReadFile(filepath.Join(dir, "dbop_create.md"))
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, "reference_create", string(page))
	index, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dbop_plan_upgrade.md", "dbop_backup_verify.md", "dbop_status.md"} {
		if !strings.Contains(string(index), name) {
			t.Errorf("the index lacks %s", name)
		}
	}
	if strings.Contains(string(index), "dbop_helper") {
		t.Error("the index shows hidden commands")
	}
}
