//go:build linux

package valkey

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// TestGrown notes where the files of a copy end, and counts what is appended after that, whatever a rewrite left.
func TestGrown(t *testing.T) {
	t.Parallel()
	const removed = -1 // a file of which nobody knows how long it was
	for name, c := range map[string]struct {
		noted, found map[int]int
		// want is at least so much, and exactly so much if no file was removed.
		want int
	}{
		"nothing":                        {map[int]int{1: 100}, map[int]int{1: 100}, 0},
		"one file":                       {map[int]int{1: 100}, map[int]int{1: 150}, 50},
		"a partial write was cut off":    {map[int]int{1: 100}, map[int]int{1: 90}, 0},
		"a rewrite began":                {map[int]int{1: 100}, map[int]int{1: 150, 2: 30}, 80},
		"during a rewrite":               {map[int]int{1: 100, 2: 10}, map[int]int{1: 100, 2: 30}, 20},
		"a rewrite failed, another one":  {map[int]int{1: 100, 2: 10}, map[int]int{1: 100, 2: 30, 3: 5}, 25},
		"no rewrite could begin":         {map[int]int{1: 100, 2: 0}, map[int]int{1: 170, 2: 0}, 70},
		"one began after all":            {map[int]int{1: 100, 2: 0}, map[int]int{1: 170, 2: 40}, 110},
		"a rewrite ended":                {map[int]int{1: 100}, map[int]int{2: 30}, removed},
		"a rewrite ended that went on":   {map[int]int{1: 100, 2: 10}, map[int]int{2: 30}, removed},
		"several ended":                  {map[int]int{1: 100}, map[int]int{4: 30}, removed},
		"no file grew yet":               {nil, map[int]int{1: 30}, removed},
		"the first file has no number 1": {map[int]int{7: 100}, map[int]int{7: 100, 8: 5}, 5},
		"no file is left":                {map[int]int{7: 100}, nil, removed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := Config{Directory: t.TempDir()}
			dir := filepath.Dir(datadir.Manifest(of.data()))
			write := func(files map[int]int) {
				if err := os.RemoveAll(dir); err != nil {
					t.Fatal(err)
				}
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				for number, size := range files {
					path := filepath.Join(dir, datadir.AppendFile+"."+strconv.Itoa(number)+".incr.aof")
					if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			var id datadir.Identity
			write(c.noted)
			note(&id, 1, appended(of.data()))
			write(c.found)
			got := int64(of.grown(id))
			if c.want == removed {
				if whole := of.volumeSize(); got < whole-id.Appended || got > 4*whole {
					t.Errorf("%d bytes were appended at most, on a volume of %d", got, whole)
				}
			} else if got != int64(c.want) {
				t.Errorf("%d bytes were appended, want %d", got, c.want)
			}
		})
	}
	if got := (Config{Directory: "/nowhere"}).volumeSize(); got != noVolume {
		t.Errorf("no volume has %d bytes", got)
	}
}

// crashes has a primary write before and after the last note of where its files end, with something in between, and
// crash. It counts more than its replica holds nevertheless.
func crashes(t *testing.T, between func(*place)) {
	t.Helper()
	_, m1, m2 := pair(t)
	value := strings.Repeat("x", 100<<10)
	writes := func() {
		for range 50 {
			m1.command("SET", "b", value)
		}
	}
	writes()
	between(m1)
	m1.persisted = time.Time{}
	m1.Observe(t.Context())
	m1.persisted = time.Now().Add(time.Hour) // the crash comes before the next time
	writes()
	if _, err := m1.ask(t.Context(), "BGREWRITEAOF"); err == nil {
		if err := m1.until(t.Context(), m1.running(), "write all data again", func(a answer) bool {
			return a.whole
		}); err != nil {
			t.Fatal(err)
		}
	}
	m2.reaches(m1)
	held := m2.Observe(t.Context()).Position
	p := m1.running()
	if err := syscall.Kill(p.Cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-p.Done
	if o := m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2}); o.Unread || o.Position.Compare(held) <= 0 {
		t.Errorf("its replica holds %s, and it tells %s", held, o.Position)
	}
}

// TestRewritten has a primary crash after it wrote all its data again, so that its files are shorter than they were.
func TestRewritten(t *testing.T) {
	t.Parallel()
	crashes(t, func(*place) {})
}

// TestNotRewritten has a primary crash that could not begin to write all its data again, as with a full disk: it leaves
// an empty file, and goes on with the one before.
func TestNotRewritten(t *testing.T) {
	t.Parallel()
	crashes(t, func(m *place) {
		dir := filepath.Dir(datadir.Manifest(m.data()))
		obstacle := filepath.Join(dir, "temp-"+datadir.AppendFile+".manifest")
		if err := os.Mkdir(obstacle, 0o700); err != nil {
			t.Fatal(err)
		}
		if answer, err := m.ask(t.Context(), "BGREWRITEAOF"); err == nil {
			t.Fatalf("it begins to write all data again: %s", answer)
		}
		if sizes, _, last := appendFiles(m.data()); len(sizes) < 2 || sizes[last] > 0 {
			t.Fatalf("no empty file is left: %v", sizes)
		}
	})
}

// TestNoted: what a server says without a write is not written down each second.
func TestNoted(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	m1.Observe(t.Context())
	noted := func() datadir.Identity {
		m1.persisted = time.Time{}
		m1.Observe(t.Context())
		id, err := datadir.ReadIdentity(m1.data())
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	before := noted()
	m1.Wait("a word without a write", func(o protocol.Server) bool { return o.Position.Offset > before.Seen })
	if now := noted(); now.Seen != before.Seen && now.Appended == before.Appended {
		t.Errorf("it wrote down %d after %d, and nobody wrote", now.Seen, before.Seen)
	}
	m1.command("SET", "b", "1")
	m1.Wait("a note of the write", func(protocol.Server) bool { // a slow disk delays what the server appends
		now := noted()
		return now.Seen > before.Seen && now.Appended > before.Appended
	})
}
