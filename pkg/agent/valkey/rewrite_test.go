//go:build linux

package valkey

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/appendonly"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

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
		if sizes, _, last := appendonly.Growing(m.data()); len(sizes) < 2 || sizes[last] > 0 {
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
