package backup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/api/v1alpha1"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/kube"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
)

const spoiled = "my-db-20261121T120000Z-ffff"

// spoil puts a backup with a damaged manifest into the default repository.
func spoil(b *clitest.Bench) {
	b.T.Helper()
	dir := filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups")
	for name, content := range map[string]string{spoiled + ".json": "{", spoiled + ".snapshot": "data"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			b.T.Fatal(err)
		}
	}
}

// TestBackupListShowsTheDamaged beside the good ones, for people and for machines.
func TestBackupListShowsTheDamaged(t *testing.T) {
	b := clitest.New(t)
	good := b.Backup("my-db")
	spoil(b)
	b.Golden("backup-list-damaged", b.Run("backup", "list", "my-db"))
	r := b.Run("backup", "list", "-o", "json")
	var got struct {
		Items   []struct{ ID, Repository string }
		Damaged []struct{ ID, Repository, Reason string }
	}
	if err := json.Unmarshal([]byte(r.Out), &got); err != nil || r.Code != exit.Done {
		t.Fatalf("exit %d, %v\n%s%s", r.Code, err, r.Out, r.Err)
	}
	if len(got.Items) != 1 || got.Items[0].ID != good || got.Items[0].Repository == "" ||
		len(got.Damaged) != 1 || got.Damaged[0].ID != spoiled || got.Damaged[0].Reason == "" ||
		got.Damaged[0].Repository != got.Items[0].Repository {
		t.Errorf("got %+v", got)
	}
	if r := b.Run("backup", "list", "-o", "name"); r.Out != "backup/"+good+"\nbackup/"+spoiled+"\n" {
		t.Errorf("names:\n%s", r.Out)
	}
}

// TestBackupDeleteOfADamagedOne works, as the hints say.
func TestBackupDeleteOfADamagedOne(t *testing.T) {
	b := clitest.New(t)
	good := b.Backup("my-db")
	spoil(b)
	if r := b.Run("backup", "describe", spoiled); r.Code != exit.Failed ||
		!strings.Contains(r.Err, "backup delete "+spoiled+" --repository dir:") {
		t.Errorf("exit %d\n%s", r.Code, r.Err)
	}
	if r := b.Run("backup", "delete", spoiled, "--yes"); r.Code != exit.Done || r.Out != "backup/"+spoiled+" deleted\n" {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
	if r := b.Run("backup", "list", "-o", "name"); r.Out != "backup/"+good+"\n" {
		t.Errorf("left:\n%s", r.Out)
	}
	if left, _ := filepath.Glob(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups", spoiled+"*")); len(left) > 0 {
		t.Errorf("remains: %v", left)
	}
}

// TestBackupDeleteIsNoted: status tells no more of a backup that is deleted, also if a deletion was interrupted before
// it could say so.
func TestBackupDeleteIsNoted(t *testing.T) {
	for name, c := range map[string]struct {
		interrupted bool
		args        []string
		code        int
		told        bool
	}{
		"whole":       {code: exit.Done},
		"interrupted": {interrupted: true, code: exit.NotFound},
		"dry run":     {args: []string{"--dry-run=client"}, code: exit.Done, told: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := clitest.New(t)
			b.CreateCluster("my-db")
			id := b.Backup("my-db")
			repo, err := repository.NewDirectory(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups"))
			if err != nil {
				t.Fatal(err)
			}
			records := b.Records(kube.DryRunNone)
			have, err := records.GetCluster(t.Context(), "shop", "my-db")
			if err != nil {
				t.Fatal(err)
			}
			have.Status.FailedProof = &v1alpha1.FailedProof{Repository: repo.URL(), ID: id, Level: "intact"}
			if err := records.UpdateCluster(t.Context(), have); err != nil {
				t.Fatal(err)
			}
			if c.interrupted {
				if err := repo.Delete(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			r := b.Run(append([]string{"backup", "delete", id, "--yes"}, c.args...)...)
			have, err = records.GetCluster(t.Context(), "shop", "my-db")
			if err != nil || r.Code != c.code || (have.Status.FailedProof != nil) != c.told {
				t.Errorf("exit %d, told of %+v, %v\n%s", r.Code, have.Status.FailedProof, err, r.Err)
			}
		})
	}
}

// TestBackupListWithoutAName lists what each cluster's own list shows.
func TestBackupListWithoutAName(t *testing.T) {
	b := clitest.New(t)
	elsewhere := filepath.Join(b.Dir, "elsewhere")
	b.Must("create", "my-db", "--engine", "fakedb", "--version", "3.5", "--progress", "none", "--repository",
		"dir:"+elsewhere)
	id := b.Backup("my-db")
	if err := os.Rename(filepath.Join(b.Dir, ".local/share/kubectl-dbop/backups"), elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"backup", "list", "my-db"}, {"backup", "list"}} {
		if r := b.Run(append(args, "-o", "name")...); r.Code != exit.Done || r.Out != "backup/"+id+"\n" ||
			!strings.Contains(r.Err, "Repository: dir:"+elsewhere) {
			t.Errorf("%v: exit %d\n%s%s", args, r.Code, r.Out, r.Err)
		}
	}
	other := b.Backup("other")
	if r := b.Run("backup", "list"); r.Code != exit.Done || !strings.Contains(r.Out, id) ||
		!strings.Contains(r.Out, other) || !strings.Contains(r.Out, "REPOSITORY") {
		t.Errorf("exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
