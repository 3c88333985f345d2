package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/datadir"
	rules "github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine/postgres/major"
)

// slots counts the slots of replication.
var slots = [2]string{"postgres", "SELECT count(*) FROM pg_replication_slots"} //nolint:gochecknoglobals // a constant

// TestConvertLinked converts data on the volume of a member, and has it die at each command of PostgreSQL and after
// pg_upgrade. Until the later version was started the volume becomes what it was; a repeat goes on in any case, and
// nothing is lost.
func TestConvertLinked(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	was := s.member(t, "was", oldest)
	want := was.ask(t, oldest, append([][2]string{{"postgres", everything},
		{"postgres", `CREATE DATABASE "it's ""odd""" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'sv'`},
		{odd, "CREATE TABLE words AS SELECT md5(n::text) AS word FROM generate_series(1, 500) n"},
		{"postgres", "SELECT pg_create_physical_replication_slot('follower', true)"}}, contents()...)...)[4:]
	commands := 0
	whole := was.copy(t, "whole")
	if err := whole.link(t, oldest, newest, func(*exec.Cmd) { commands++ }); err != nil {
		t.Fatal(err)
	}
	whole.holds(t, newest, want, "0")
	if _, err := os.Stat(filepath.Dir(whole.directory) + ".former"); err == nil {
		t.Error("the old data is left")
	}
	if err := whole.link(t, oldest, newest, nil); err != nil {
		t.Errorf("it is asked for again: %v", err)
	}
	if back, err := whole.linked(t, oldest, newest, nil).Revert(); back || err != nil {
		t.Errorf("what the later version wrote to is taken back: %t, %v", back, err)
	}
	t.Logf("it takes %d commands", commands)
	for n := range commands + 1 {
		if !*allFlag && n != 0 && n != commands-3 {
			continue
		}
		d, count := was.copy(t, "killed"), 0
		err := d.link(t, oldest, newest, func(c *exec.Cmd) {
			count++
			switch {
			case n == 0 && filepath.Base(c.Path) == "pg_upgrade": // it ends well, and nobody learns of it
				c.Args = append([]string{"sh", "-c", `"$@" && exit 9`, "sh", c.Path}, c.Args[1:]...)
				c.Path = "/bin/sh"
			case n == count:
				c.Path = "/bin/false"
			}
		})
		if err == nil {
			t.Fatalf("it did not die at command %d", n)
		}
		back, err := d.linked(t, oldest, newest, nil).Revert()
		if err != nil {
			t.Fatalf("died at command %d: %v", n, err)
		}
		t.Logf("died at command %d of %d, taken back: %t", n, commands, back)
		if back {
			d.holds(t, oldest, want, "1")
		} else if n == 0 || n < 4 {
			t.Errorf("died at command %d: it can't be taken back", n)
		}
		if err := d.link(t, oldest, newest, nil); err != nil {
			t.Fatalf("died at command %d: %v", n, err)
		}
		d.holds(t, newest, want, "0")
		if err := os.RemoveAll(filepath.Dir(filepath.Dir(d.directory))); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertCloned: where the file system clones files, the volume becomes what it was after the later version was
// started, too, and while the directories change places.
func TestConvertCloned(t *testing.T) {
	s, all := former(t)
	if s.dir = os.Getenv("DBOP_CLONES"); s.dir == "" {
		t.Skip("DBOP_CLONES names no file system that clones files: hack/agents.sh makes one")
	}
	oldest, newest := all[0], all[len(all)-1]
	was := s.member(t, "was", oldest)
	kept := [2]string{"postgres", "SELECT n FROM kept"}
	was.ask(t, oldest, [2]string{"postgres", "CREATE TABLE kept AS SELECT 7 AS n"})
	commands, cloned := 0, false
	whole := was.copy(t, "whole")
	if err := whole.link(t, oldest, newest, func(c *exec.Cmd) {
		commands++
		cloned = cloned || slices.Contains(c.Args, "--clone")
	}); err != nil || !cloned {
		t.Fatalf("it clones: %t, %v", cloned, err)
	}
	if back, err := whole.linked(t, oldest, newest, nil).Revert(); back || err != nil {
		t.Errorf("what the later version serves is taken back: %t, %v", back, err)
	}
	for name, die := range map[string]int{"before it is started": commands - 4, "after that": commands - 2,
		"at the end": commands} {
		if !*allFlag && die < commands-2 { // as with links
			continue
		}
		d, count := was.copy(t, "killed"), 0
		if err := d.link(t, oldest, newest, func(c *exec.Cmd) {
			if count++; count == die {
				c.Path = "/bin/false"
			}
		}); err == nil {
			t.Fatalf("%s: it did not die", name)
		}
		member := filepath.Dir(d.directory)
		if die == commands { // it put the old data aside
			if err := os.Rename(member, member+".former"); err != nil {
				t.Fatal(err)
			}
		}
		back, err := d.linked(t, oldest, newest, nil).Revert()
		if !back || err != nil {
			t.Fatalf("%s: it is taken back: %t, %v", name, back, err)
		}
		s.ownTree(member)
		if got := d.ask(t, oldest, kept); got[0] != "7" {
			t.Errorf("%s: the old data holds %v", name, got)
		}
		if err := d.link(t, oldest, newest, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.ownTree(member)
		if got := d.ask(t, newest, kept); got[0] != "7" {
			t.Errorf("%s: the new data holds %v", name, got)
		}
		if err := os.RemoveAll(filepath.Dir(member)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertLinkedReplica: data of a replica is recovered first, all of it, and does not go back from there on.
func TestConvertLinkedReplica(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	was := s.member(t, "was", oldest)
	was.ask(t, oldest, [2]string{"postgres", "CREATE TABLE kept AS SELECT 7 AS n"})
	if err := datadir.WriteIdentity(was.directory, datadir.Identity{Volume: "v", Lineage: datadir.Lineage{
		Timeline: 1}}); err != nil {
		t.Fatal(err)
	}
	s.ownTree(was.directory)
	was.follow(t, oldest)
	for name, n := range map[string]int{"whole": 0, "killed while it is recovered": 3, "killed after that": 4} {
		t.Run(name, func(t *testing.T) {
			d, count := was.copy(t, strings.ReplaceAll(name, " ", "")), 0
			err := d.link(t, oldest, newest, func(c *exec.Cmd) {
				if count++; count == n {
					c.Path = "/bin/false"
				}
			})
			if (err != nil) != (n > 0) {
				t.Fatalf("it ends with %v", err)
			}
			if back, err := d.linked(t, oldest, newest, nil).Revert(); back || err != nil {
				t.Errorf("a member may run on a timeline that nobody agreed on: %t, %v", back, err)
			}
			if err := d.link(t, oldest, newest, nil); err != nil {
				t.Fatal(err)
			}
			s.ownTree(filepath.Dir(d.directory))
			if got := d.ask(t, newest, [2]string{"postgres", "SELECT n FROM kept"}); got[0] != "7" {
				t.Errorf("the new data holds %v", got)
			}
		})
	}
}

// follow has a server follow nobody for a moment: its data is that of a replica then.
func (d data) follow(t *testing.T, r release) {
	t.Helper()
	server := d.server(r)
	signal := filepath.Join(server.Data, "standby.signal")
	settings, err := server.Configure()
	if err == nil {
		err = os.WriteFile(signal, nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.site.own(signal)
	args := []string{"-D", server.Data, "-c", "listen_addresses=", "-c", "unix_socket_directories=" + d.directory}
	for _, one := range settings {
		args = append(args, "-c", one[0]+"="+one[1])
	}
	cmd := server.Command(t.Context(), "postgres", args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	state := func(want string) error {
		control, err := server.Control(t.Context())
		if got := control["Database cluster state"]; err == nil && got != want {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	}
	for end := time.Now().Add(time.Minute); state("in archive recovery") != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(state("in archive recovery"))
		}
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGINT), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := state("shut down in recovery"); err != nil {
		t.Fatal(err)
	}
}

// TestConvertLinkedRefused: what the later version lacks is named, and the volume becomes what it was.
func TestConvertLinkedRefused(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	d := s.member(t, "refused", oldest)
	d.ask(t, oldest, [2]string{"postgres", "CREATE TABLE odd (n int, a aclitem)"},
		[2]string{"postgres", "INSERT INTO odd VALUES (7)"})
	err := d.link(t, oldest, newest, nil)
	if err == nil || !strings.Contains(err.Error(), "public.odd.a") {
		t.Fatalf("it does not name the column: %v", err)
	}
	if back, err := d.linked(t, oldest, newest, nil).Revert(); !back || err != nil {
		t.Fatalf("it is taken back: %t, %v", back, err)
	}
	if got := d.ask(t, oldest, [2]string{"postgres", "SELECT n FROM odd"}); got[0] != "7" {
		t.Errorf("the old data holds %v", got)
	}
	d.ask(t, oldest, [2]string{"postgres", "ALTER TABLE odd DROP a"})
	if err := d.link(t, oldest, newest, nil); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(t, newest, [2]string{"postgres", "SELECT n FROM odd"}); got[0] != "7" {
		t.Errorf("the new data holds %v", got)
	}
}

// TestConvertBroken: an index that can't be made again ends a conversion on a copy, and not one on a member's own
// volume, which has no way back by then: no query takes it, and once its rows are mended it is made again. One database
// has indexes with an order of their own, the other one an order that changes as a whole.
func TestConvertBroken(t *testing.T) {
	s, all := former(t)
	oldest, newest := all[0], all[len(all)-1]
	was := s.member(t, "was", oldest)
	was.ask(t, oldest, [2]string{"postgres", `CREATE DATABASE "it's ""odd""" TEMPLATE template0 LOCALE_PROVIDER icu ` +
		`ICU_LOCALE 'sv'`})
	state := "UPDATE pg_index SET indisready = %[1]t, indisvalid = %[1]t WHERE indexrelid = 'twice_word'::regclass"
	orders := map[string]string{"postgres": ` COLLATE "sv-x-icu"`, odd: ""}
	for database, order := range orders {
		for _, statement := range []string{"CREATE TABLE twice (word text)",
			"CREATE INDEX sound ON twice (word" + order + ")",
			"CREATE UNIQUE INDEX twice_word ON twice (word" + order + ")", fmt.Sprintf(state, false),
			"INSERT INTO twice VALUES ('a'), ('a'), ('b')", fmt.Sprintf(state, true)} {
			was.ask(t, oldest, [2]string{database, statement})
		}
	}
	err := was.copy(t, "copied").convert(t, oldest, newest)
	if err == nil || !strings.Contains(err.Error(), "twice_word") {
		t.Errorf("a copy is converted: %v", err)
	}
	if err := was.link(t, oldest, newest, nil); err != nil {
		t.Fatal(err)
	}
	s.ownTree(filepath.Dir(was.directory))
	const valid = "SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY indisvalid) " +
		"FROM pg_index WHERE indrelid = 'twice'::regclass"
	for database := range orders {
		got := was.ask(t, newest, [2]string{database, valid},
			[2]string{database, "DELETE FROM twice WHERE ctid IN (SELECT min(ctid) FROM twice WHERE word = 'a')"},
			[2]string{database, "REINDEX INDEX twice_word"}, [2]string{database, valid})
		if want := "twice_word false, sound true"; got[0] != want || strings.Contains(got[3], "false") {
			t.Errorf("valid in %s are %q, want %q, and then %q", database, got[0], want, got[3])
		}
	}
}

// member makes a database of the oldest release on a volume of a member.
func (s *site) member(t *testing.T, name string, r release) data {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(s.dir, name, "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.ownTree(filepath.Join(s.dir, name))
	return s.make(t, filepath.Join(name, "member", "data"), r)
}

// copy copies the volume of a member.
func (d data) copy(t *testing.T, name string) data {
	t.Helper()
	volume := filepath.Dir(filepath.Dir(d.directory))
	to := filepath.Join(d.site.dir, name)
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", volume, to).CombinedOutput(); err != nil {
		t.Fatalf("copy the volume: %v: %s", err, out)
	}
	return data{site: d.site, directory: filepath.Join(to, "member", "data")}
}

// linked is a conversion on the volume of a member.
func (d data) linked(t *testing.T, from, to release, trouble func(*exec.Cmd)) major.Linked {
	t.Helper()
	scratch, err := os.MkdirTemp(built, "u") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	d.site.own(scratch)
	prepare := func(c *exec.Cmd) {
		d.prepare(scratch)(c)
		d.site.ownTree(d.directory)
		next := filepath.Dir(d.directory) + ".next"
		if _, err := os.Stat(next); err == nil {
			d.site.ownTree(next)
		}
		if trouble != nil {
			trouble(c)
		}
	}
	return major.Linked{Operation: "incarnation-1", Recover: func(ctx context.Context) error {
		return rules.Promote(ctx, d.directory, rules.Forward{Bin: from.programs.Path(), Libraries: from.libraries,
			Sockets: scratch, Prepare: prepare})
	}, Upgrade: major.Upgrade{Directory: d.directory, Former: from.programs, Later: to.programs, Libraries: from.libraries,
		Scratch: scratch, User: "dbop", Prepare: prepare}}
}

func (d data) link(t *testing.T, from, to release, trouble func(*exec.Cmd)) error {
	t.Helper()
	return d.linked(t, from, to, trouble).Run(t.Context())
}

// holds compares what a volume holds.
func (d data) holds(t *testing.T, r release, want []string, wantSlots string) {
	t.Helper()
	d.site.ownTree(filepath.Dir(d.directory))
	got := d.ask(t, r, append(contents(), slots)...)
	if diff := cmp.Diff(append(append([]string(nil), want...), wantSlots), got); diff != "" {
		t.Errorf("the data of version %s is another one (-want +got):\n%s", r.programs.Major, diff)
	}
}
