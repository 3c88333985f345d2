package diagnostics_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
)

func TestInspect(t *testing.T) {
	b := clitest.New(t)
	b.Golden("inspect", b.Run("inspect", "hand"))
	b.Golden("inspect_wide", b.Run("inspect", "-l", "app=hand", "-o", "wide"))
	b.Golden("inspect_json", b.Run("inspect", "--endpoints", "hand-0:2379", "-o", "json"))
	if b.ExternalCluster.Config.Endpoints[0] != "hand-0:2379" || b.ExternalCluster.Config.Namespace != "shop" {
		t.Errorf("searched %+v", b.ExternalCluster.Config)
	}
	b.Run("inspect", "hand", "--cert-secret", "c", "--ca-secret", "a", "--user-secret", "u")
	if c := b.ExternalCluster.Config; c.Name != "hand" || c.CertSecret != "c" || c.CASecret != "a" ||
		c.UserSecret != "u" {
		t.Errorf("speaks with %+v", c)
	}
	b.ExternalCluster.Lost = true
	if r := b.Run("inspect", "hand"); r.Code != exit.Down {
		t.Errorf("without quorum: exit %d", r.Code)
	}
	for _, args := range [][]string{{"inspect"}, {"inspect", "hand", "-l", "app=hand"},
		{"inspect", "hand", "--engine", "nodb", "-o", "nothing"},
		{"backup", "my-db", "--from-statefulset", "hand"}, {"backup", "-l", "a=b", "--endpoints", "x:1"}} {
		if r := b.Run(args...); r.Code != exit.Usage {
			t.Errorf("%v: exit %d\n%s", args, r.Code, r.Err)
		}
	}
	if len(b.Writes) > 0 {
		t.Errorf("inspect wrote %v", b.Writes)
	}
}

func TestBackupOutside(t *testing.T) {
	b := clitest.New(t)
	b.Golden("backup_outside_dry", b.Run("backup", "--from-statefulset", "hand", "--dry-run"))
	b.Golden("backup_outside_plan", b.Run("plan", "backup", "--from-statefulset", "hand"))
	if _, err := os.Stat(filepath.Join(b.Dir, ".local")); err == nil {
		t.Error("a dry run made a repository")
	}
	b.Golden("backup_outside", b.Run("backup", "--from-statefulset", "hand", "--progress", "none"))
	r := b.Run("backup", "list", "hand", "-o", "name")
	if r.Code != exit.Done || strings.Count(r.Out, "backup/hand-") != 1 {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if len(b.Writes) > 0 {
		t.Errorf("it wrote to Kubernetes: %v", b.Writes)
	}
	id := strings.TrimSpace(strings.TrimPrefix(r.Out, "backup/"))
	// 3.5.4 is not in the catalog: its minor's newest takes its place.
	b.Must("restore", "my-db", "--from", id, "--progress", "none")
	if r := b.Run("list"); !strings.Contains(r.Out, "3.5.9") {
		t.Errorf("restored as\n%s", r.Out)
	}
	b.Must("backup", "--from-statefulset", "hand", "--to", filepath.Join(b.Dir, "other"), "--verify",
		"--progress", "none")
}
