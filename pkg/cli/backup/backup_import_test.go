package backup_test

import (
	"io"
	"strings"
	"testing"

	"github.com/dbop-dev/kubectl-dbop/pkg/cli/clitest"
	"github.com/dbop-dev/kubectl-dbop/pkg/cli/exit"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/archive"
	"github.com/dbop-dev/kubectl-dbop/pkg/repository/bucket"
)

const copied = "my-db-20261123T101500Z-0a1b"

// twoStores are a repository with one backup in a directory, and an empty one of the name "offsite".
func twoStores(t *testing.T, b *clitest.Bench) (dir string) {
	t.Helper()
	signer, public, err := archive.NewSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	d := bucket.Description{Name: "offsite", URL: "s3://backups", Plain: true, Trusted: []string{public}}
	r, err := bucket.Open(d, bucket.Secrets{bucket.FileSigningKey: []byte(signer)}, "default", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	from, err := r.Directory(dir)
	if err != nil {
		t.Fatal(err)
	}
	to, err := r.Directory(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := from.Writer(t.Context(), copied, "op-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "content"); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(t.Context(), repository.Manifest{Engine: "fakedb", Cluster: "my-db", Version: "3.5",
		Incarnation: "token", StartedAt: clitest.Noon, FinishedAt: clitest.Noon}, func(string) (engine.SnapshotFacts, error) {
		return engine.SnapshotFacts{LogStart: &engine.LogStart{Timeline: "1", File: "0002"}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0001", "0002", "0003"} {
		err := from.Log("default", "my-db", "token").Append(t.Context(),
			archive.Segment{Timeline: "1", Name: name, Start: name, End: name + "x", Time: clitest.Noon}, []byte(name))
		if err != nil {
			t.Fatal(err)
		}
	}
	b.Stores = map[string]repository.Repository{"offsite": to}
	return dir
}

func TestBackupImport(t *testing.T) {
	b := clitest.New(t)
	from := "dir:" + twoStores(t, b)
	for _, row := range []struct {
		args string
		code int
		says string
	}{
		{copied + " --log=false --from " + from, exit.Done, "backup/" + copied + " imported"},
		{"--all --from " + from, exit.Done, "log of my-db imported, "},
		{copied + " --from " + from, exit.Done, "backup/" + copied + " unchanged"},
		{"my-db-20261123T101500Z-ffff --from " + from, exit.NotFound, "my-db-20261123T101500Z-ffff"},
		{"--all --from dir:" + t.TempDir(), exit.Refused, "repository list"},
		{"--all --from offsite", exit.Usage, "are the same"},
		{"--all", exit.Usage, "--from is required"},
		{"--from " + from, exit.Usage, "--all"},
		{"x --all --from " + from, exit.Usage, "--all"},
	} {
		args := append([]string{"backup", "import", "--repository", "offsite"}, strings.Fields(row.args)...)
		if r := b.Run(args...); r.Code != row.code || !strings.Contains(r.Out+r.Err, row.says) {
			t.Errorf("%s: exit %d, want %d and %q\n%s%s", row.args, r.Code, row.code, row.says, r.Out, r.Err)
		}
	}
	log := b.Stores["offsite"].(*bucket.Repository).Log("default", "my-db", "token")
	if all, err := log.Segments(t.Context()); err != nil || len(all) != 2 || all[0].Name != "0002" {
		t.Errorf("%d files of the log, %v", len(all), err)
	}
	if r := b.Run("backup", "list", "--repository", "offsite", "-o", "name"); r.Out != "backup/"+copied+"\n" {
		t.Errorf("listed:\n%s%s", r.Out, r.Err)
	}
	r := b.Run("backup", "import", "--all", "--from", "offsite", "--repository", from)
	if r.Code != exit.Refused || !strings.Contains(r.Err, "no object store") {
		t.Errorf("into a directory: exit %d\n%s%s", r.Code, r.Out, r.Err)
	}
}
