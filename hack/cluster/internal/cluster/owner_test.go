package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/hack/cluster/internal/site"
)

func TestForeignFilesAreNotCleaned(t *testing.T) {
	c := Cluster{Site: site.Site{State: t.TempDir()}}
	mine := filepath.Join(c.State, "thesis.txt")
	if err := os.WriteFile(mine, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := c.mayClean(); err == nil {
		t.Error("a directory with files of somebody else must be refused")
	}
}
