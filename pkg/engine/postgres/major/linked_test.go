package major

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// stopped is the data of a member, whose server ended as pg_controldata says.
func stopped(t *testing.T, state string) Linked {
	t.Helper()
	root := plant(t, map[string]string{"member/data/pgdata/PG_VERSION": "15", "member/data/pgdata/global/pg_control": "",
		"member/data/pgdata/pg_replslot/one/state": ""})
	l := Linked{Operation: "one", Upgrade: Upgrade{Directory: filepath.Join(root, "member", "data")}}
	l.Prepare = func(c *exec.Cmd) {
		c.Path, c.Err, c.Args = "/bin/echo", nil, []string{"echo", "Database cluster state:   " + state}
	}
	return l
}

// TestAhead: a crash right after the first write loses nothing of whether a member may run on its data again.
func TestAhead(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]bool{"shut down": true, "in production": false, "shut down in recovery": false} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			l := stopped(t, state)
			if _, err := l.begin(t.Context(), &conversion{}); err != nil {
				t.Fatal(err)
			}
			if !want { // another operation begins, after the former server recovered the data
				l.Prepare, l.Operation = stopped(t, "shut down").Prepare, "two"
				c, err := l.found()
				if err == nil {
					_, err = l.begin(t.Context(), &c)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if got, err := l.Revert(); got != want || err != nil {
				t.Errorf("it is taken back: %t, %v, want %t", got, err, want)
			}
		})
	}
}

// TestAheadAtOnce: what the first write says of the data is what the control file says.
func TestAheadAtOnce(t *testing.T) {
	t.Parallel()
	l := stopped(t, "in production")
	said := l.Prepare
	l.Prepare = func(c *exec.Cmd) {
		said(c)
		if exists(filepath.Join(l.next(), name)) {
			t.Error("something is written before it is known how the data ended")
		}
	}
	if _, err := l.begin(t.Context(), &conversion{}); err != nil {
		t.Fatal(err)
	}
}

// TestBeginKeepsFormer: where the member has no data that is whole, the old data stays.
func TestBeginKeepsFormer(t *testing.T) {
	t.Parallel()
	l := stopped(t, "shut down")
	if err := os.Remove(filepath.Join(l.pgdata(), "global", "pg_control")); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(l.last(), "data")
	if err := os.MkdirAll(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.begin(t.Context(), &conversion{}); err == nil || !exists(kept) {
		t.Errorf("the old data is there: %t, %v", exists(kept), err)
	}
}
