package agent

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	engines "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
)

// summarizing is PostgreSQL that notes which blocks change.
type summarizing struct{ postgres }

func (s summarizing) values() map[string]string {
	v := s.postgres.values()
	v["summarize_wal"] = "on"
	return v
}

// pgMajor is the version that is here.
func pgMajor(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(filepath.Base(filepath.Dir(programs(t))))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// before makes tables that change later in all ways: some pages, at their end, shorter, gone. Who reads a row first may
// write to its page that it is committed: vacuum does it for all.
const before = `CREATE TABLE pages (id int PRIMARY KEY, v text) WITH (fillfactor = 45, autovacuum_enabled = off);
INSERT INTO pages SELECT i, md5(i::text) || repeat('x', 400) FROM generate_series(1, 120000) i;
CREATE TABLE longer AS SELECT i, repeat('y', 500) FROM generate_series(1, 2000) i;
CREATE TABLE shorter AS SELECT i, repeat('z', 500) FROM generate_series(1, 20000) i;
CREATE TABLE empty (i int); INSERT INTO empty SELECT generate_series(1, 5000);
CREATE TABLE gone AS SELECT i, repeat('g', 500) FROM generate_series(1, 2000) i;
CREATE TABLE same AS SELECT i, repeat('s', 500) FROM generate_series(1, 2000) i;
VACUUM (FREEZE); CHECKPOINT`

// after changes 5 % of the pages of the largest table, and the others.
const after = `UPDATE pages SET v = reverse(v) WHERE id BETWEEN 30000 AND 36000;
INSERT INTO longer SELECT i, repeat('Y', 500) FROM generate_series(1, 3000) i;
DELETE FROM shorter WHERE i > 12000; VACUUM shorter;
TRUNCATE empty; DROP TABLE gone; CREATE TABLE new AS SELECT i, repeat('n', 500) FROM generate_series(1, 1000) i`

// tables are what before and after leave. They have an order of their own, because a parallel plan gives the parts of a
// UNION ALL in any order.
const tables = `SELECT 1, md5(string_agg(p::text, ',' ORDER BY id)) FROM pages p
 UNION ALL SELECT 2, md5(string_agg(p::text, ',' ORDER BY p::text)) FROM longer p
 UNION ALL SELECT 3, md5(string_agg(p::text, ',' ORDER BY p::text)) FROM shorter p
 UNION ALL SELECT 4, count(*)::text FROM empty
 UNION ALL SELECT 5, md5(string_agg(p::text, ',' ORDER BY p::text)) FROM same p
 UNION ALL SELECT 6, md5(string_agg(p::text, ',' ORDER BY p::text)) FROM new p
 UNION ALL SELECT 7, coalesce(to_regclass('gone')::text, 'none')
 ORDER BY 1`

// TestIncremental copies all, changes a twentieth of the pages, and copies what changed, of a replica and of the
// primary. What is made of both copies is what pg_combinebackup makes of them, and serves the data as it was.
func TestIncremental(t *testing.T) {
	t.Parallel()
	if pgMajor(t) < 17 {
		refusesIncremental(t)
		return
	}
	s := newSite(t, options{durability: protocol.Preferred, members: 2, engine: summarizing{}})
	s.wait("a primary", func() bool { return s.primary() != nil })
	p, r := s.members[0], s.members[1]
	if s.primary() == r {
		p, r = r, p
	}
	s.wait("a replica", func() bool {
		st := r.status()
		return st != nil && st.Server.Role == protocol.Replica && st.Server.Upstream == p.id && !st.Server.Unread
	})
	p.run(t, before)
	end, err := p.ask("dbop", time.Minute, "SELECT pg_current_wal_insert_lsn()")
	if err != nil {
		t.Fatal(err)
	}
	s.wait("the replica has it", func() bool {
		got, err := r.ask("dbop", time.Second, "SELECT pg_last_wal_replay_lsn() >= '"+end[0][0]+"'")
		return err == nil && got[0][0] == "t"
	})
	full := filepath.Join(s.dir, "full")
	began := time.Now()
	s.copy(r, full)
	took := time.Since(began)
	base := readBase(t, full)
	for _, m := range s.members {
		for _, backup := range []string{"db-1", "db-2"} {
			if err := m.client.KeepBase(t.Context(), api.Base{Backup: backup, Repository: "offsite"}, base); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.client.KeepBase(t.Context(), api.Base{Backup: "db-0", Repository: "other"}, base); err != nil {
			t.Fatal(err)
		}
		want := []api.Base{{Backup: "db-2", Repository: "offsite"}, {Backup: "db-0", Repository: "other"}}
		if got := m.known().Server.Bases; !slices.Equal(got, want) {
			t.Errorf("%s keeps %+v", m.id, got)
		}
	}
	p.run(t, after)
	want, err := p.ask("dbop", time.Minute, tables)
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]*member{"replica": r, "primary": p} {
		changed := filepath.Join(s.dir, "changed-of-"+name)
		began := time.Now()
		s.increment(from, "db-2", changed)
		t.Logf("%s: %s for %s of what changed, %s for %s of all", name, time.Since(began).Round(time.Millisecond),
			megabytes(t, changed), took.Round(time.Millisecond), megabytes(t, full))
		if share := float64(length(t, changed)) / float64(length(t, full)); share > 0.25 {
			t.Errorf("what changed takes %.2f of all", share)
		}
		both := filepath.Join(s.dir, "both-of-"+name)
		join(t, both, changed, full)
		s.sameAsStock(both, changed, full)
		n := newSite(t, options{durability: protocol.Async, members: 1})
		m := n.restore(both)
		got, err := m.ask("dbop", time.Minute, tables)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: restored %v, want %v", name, got, want)
		}
		if found, err := m.client.CheckData(t.Context()); err != nil || found.By == "" || len(found.Problems) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

// run runs statements, each by itself: some can't be part of a transaction.
func (m *member) run(t *testing.T, statements string) {
	t.Helper()
	for statement := range strings.SplitSeq(statements, ";") {
		if _, err := m.ask("dbop", time.Minute, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// refusesIncremental: an older version says why it can't.
func refusesIncremental(t *testing.T) {
	t.Helper()
	s := newSite(t, options{durability: protocol.Async, members: 1})
	s.wait("a primary", func() bool { return s.primary() != nil })
	err := s.awaitPrimary().client.KeepBase(t.Context(), api.Base{Backup: "db-1", Repository: "offsite"}, []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "17 or later") {
		t.Errorf("an old version keeps a base: %v", err)
	}
}

// readBase is what members keep of a copy.
func readBase(t *testing.T, file string) []byte {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	base := engines.New().NewBase()
	if _, err := io.Copy(base, in); err != nil || base.Content() == nil {
		t.Fatalf("no base is in %s: %v", file, err)
	}
	return base.Content()
}

// increment takes a copy of what changed since a backup.
func (s *site) increment(from *member, since, file string) {
	s.t.Helper()
	out, err := os.Create(file)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	upTo, err := from.client.Checkpoint(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := from.client.Increment(ctx, since, upTo, out); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.engine.tool().OpenSnapshot(file, false); err != nil {
		s.t.Fatal(err)
	}
}

func length(t *testing.T, file string) int64 {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func megabytes(t *testing.T, file string) string {
	t.Helper()
	return fmt.Sprintf("%.1f MB", float64(length(t, file))/1e6)
}

// join writes files behind each other.
func join(t *testing.T, to string, from ...string) {
	t.Helper()
	out, err := os.Create(to)
	for _, name := range from {
		if err == nil {
			var in *os.File
			if in, err = os.Open(name); err == nil {
				_, err = io.Copy(out, in)
				err = errors.Join(err, in.Close())
			}
		}
	}
	if err = errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
}

// sameAsStock compares what is made of both copies with what PostgreSQL's own programs make of them.
func (s *site) sameAsStock(both, changed, full string) {
	t := s.t
	t.Helper()
	dir := both + ".d"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ours, stock := filepath.Join(dir, "ours"), filepath.Join(dir, "stock")
	began := time.Now()
	if err := s.engine.tool().Unpack(t.Context(), both, ours); err != nil {
		t.Fatal(err)
	}
	ours = filepath.Join(ours, "pgdata")
	combined := time.Since(began)
	began = time.Now()
	for name, file := range map[string]string{"full": full, "changed": changed} {
		untar(t, file, filepath.Join(dir, name))
	}
	s.ownTree(dir)
	s.stock("pg_combinebackup", "-o", stock, filepath.Join(dir, "full"), filepath.Join(dir, "changed"))
	t.Logf("combined in %s, by pg_combinebackup in %s", combined.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
	for _, directory := range []string{filepath.Join(dir, "full"), filepath.Join(dir, "changed"), stock, ours} {
		s.stock("pg_verifybackup", directory)
	}
	a, b := sums(t, ours), sums(t, stock)
	delete(a, "backup_manifest") // in another order, and with other times
	delete(b, "backup_manifest")
	if !maps.Equal(a, b) {
		for name := range a {
			if a[name] != b[name] {
				t.Errorf("%s differs from what pg_combinebackup makes", name)
			}
		}
		t.Errorf("%d files are made, %d by pg_combinebackup", len(a), len(b))
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// stock runs a program of PostgreSQL, as the user of the servers.
func (s *site) stock(name string, args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(programs(s.t), name), args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.owner}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
}

func untar(t *testing.T, file, to string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(to, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, content, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sums are the checksums of all files below a directory.
func sums(t *testing.T, directory string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, directory+"/")] = fmt.Sprintf("%d %x", len(raw), sha256.Sum256(raw))
		return err
	})
	if err != nil || len(out) < 100 {
		t.Fatalf("%d files, %v", len(out), err)
	}
	return out
}
