package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/loaded"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/major"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/private"
)

// release is a major version, and how its programs run here.
type release struct {
	programs  major.Programs
	libraries string
}

// releases copies the programs out of the trees that DBOP_FORMER names, the oldest first. Last comes what is installed.
func (s *site) releases(t *testing.T) []release {
	t.Helper()
	var all []release
	for root := range strings.FieldsSeq(os.Getenv("DBOP_FORMER")) {
		found, _ := filepath.Glob(filepath.Join(root, "usr/lib/postgresql/*/bin/postgres"))
		if len(found) != 1 {
			t.Fatalf("%s holds %d versions", root, len(found))
		}
		name := filepath.Base(filepath.Dir(filepath.Dir(found[0])))
		r := release{programs: major.Programs{Directory: filepath.Join(s.dir, name), Major: name}, libraries: filepath.Join(
			s.dir, "l"+name)}
		if err := errors.Join(r.programs.Copy(root), r.programs.Missing("/", r.libraries)); err != nil {
			t.Fatal(err)
		}
		s.ownTree(r.libraries)
		all = append(all, r)
	}
	return append(all, installed(t))
}

// installed is the release of this machine.
func installed(t *testing.T) release {
	t.Helper()
	return release{programs: major.Programs{Directory: "/", Major: filepath.Base(filepath.Dir(programs(t)))}}
}

// data is one database on its way through major versions.
type data struct {
	site      *site
	directory string
}

func (d data) server(r release) private.Server {
	return private.Server{Programs: r.programs.Path(), Libraries: r.libraries, Data: filepath.Join(d.directory, "pgdata"),
		Sockets: d.directory, Open: true, Prepare: d.prepare(d.directory)}
}

// prepare has a command run as the servers' user, who owns the configuration in a directory.
func (d data) prepare(directory string) func(*exec.Cmd) {
	return func(c *exec.Cmd) {
		files, _ := filepath.Glob(filepath.Join(directory, "*.conf")) // the pattern is right
		d.site.own(files...)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: d.site.owner}
	}
}

// make makes a database of a release.
func (s *site) make(t *testing.T, name string, r release) data {
	t.Helper()
	d := data{site: s, directory: filepath.Join(s.dir, name)}
	err := os.Mkdir(d.directory, 0o700)
	if err == nil {
		err = loaded.Write(d.directory, loaded.Record{})
	}
	if err != nil {
		t.Fatal(err)
	}
	s.ownTree(d.directory)
	server := d.server(r)
	initdb := server.Command(t.Context(), "initdb", "--pgdata", server.Data, "--username", "dbop", "--data-checksums",
		"--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8", "--wal-segsize", "4")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	return d
}

// convert brings the data to a later release.
func (d data) convert(t *testing.T, from, to release) error {
	t.Helper()
	scratch, err := os.MkdirTemp(built, "u") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	d.site.own(scratch)
	return major.Upgrade{Directory: d.directory, Former: from.programs, Later: to.programs, Libraries: from.libraries,
		Scratch: scratch, User: "dbop", Prepare: func(c *exec.Cmd) {
			d.prepare(scratch)(c)
			if to.libraries != "" && !strings.HasPrefix(c.Path, from.programs.Path()) { // an image of its own has them
				c.Env = append(c.Env, "LD_LIBRARY_PATH="+from.libraries+":"+to.libraries)
			}
		}}.Run(t.Context())
}

// ask runs statements in databases, and returns what each of them answers.
func (d data) ask(t *testing.T, r release, statements ...[2]string) []string {
	t.Helper()
	var got []string
	if err := d.server(r).Run(t.Context(), func(ctx context.Context) error {
		for _, one := range statements {
			c, err := pgconn.Connect(ctx, "host="+d.directory+" user=dbop dbname='"+strings.ReplaceAll(one[0], "'", `\'`)+"'")
			if err != nil {
				return err
			}
			results, err := c.Exec(ctx, one[1]).ReadAll()
			if err = errors.Join(err, c.Close(ctx)); err != nil {
				return err
			}
			var cells []string
			for _, row := range results[len(results)-1].Rows {
				for _, cell := range row {
					cells = append(cells, string(cell))
				}
			}
			got = append(got, strings.Join(cells, " "))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return got
}
