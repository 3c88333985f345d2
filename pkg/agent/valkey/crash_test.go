//go:build linux

package valkey

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/valkey/datadir"
)

// crash kills the server of a member, and waits until the driver knows.
func (p *place) crash() {
	p.T.Helper()
	if err := syscall.Kill(p.running().Cmd.Process.Pid, syscall.SIGKILL); err != nil {
		p.T.Fatal(err)
	}
	p.Wait("the end", func(o protocol.Server) bool { return o.Role == protocol.Stopped })
}

// TestDamaged has a primary crash whose data can't be loaded any more. It tells nothing: what it held counts more than
// all that others hold, and it could not serve.
func TestDamaged(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	for range 100 {
		m1.command("INCR", "a")
	}
	m2.reaches(m1)
	m1.crash()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(datadir.Manifest(m1.data())), "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no append-only files: %v", err)
	}
	raw, err := os.ReadFile(files[0])
	if err == nil {
		copy(raw[len(raw)/2:], "\x00\xff damaged \xff\x00")
		err = os.WriteFile(files[0], raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := m1.Try(protocol.Job{Kind: protocol.Cut, Generation: 2}); err == nil {
		t.Error("it loads damaged data")
	}
	if o := m1.Observe(t.Context()); !o.Unread || o.Floor != 2 {
		t.Errorf("it tells what it can't load: %+v", o)
	}
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	m2.Serve(2, 3, protocol.SyncSet{Version: 2})
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m1.reaches(m2)
	if got := m1.command("GET", "a"); got != "101" {
		t.Errorf("the copy holds %s", got)
	}
	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 2})
	if o := m1.Observe(t.Context()); o.Unread {
		t.Errorf("after a stop in order it does not tell what it holds: %+v", o)
	}
}

// TestHeldBack: a primary that crashes now and then tells at once what it holds, one that does so again and again lets
// others be asked first.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	for n := 1; n <= mostCrashes; n++ {
		m1.crash()
		began := time.Now()
		g := protocol.Generation(n + 1)
		if o := m1.Must(protocol.Job{Kind: protocol.Cut, Generation: g}); o.Unread {
			t.Fatalf("it does not tell what it holds: %+v", o)
		}
		// How long a server takes to load its data depends on the machine, so a time alone does not tell that it was held.
		held, took := m1.Reports("others may lead before it") > 0, time.Since(began)
		if held != (n == mostCrashes) || held && took < heldBack {
			t.Errorf("after crash %d it tells after %s, held back %t", n, took, held)
		}
		if err := m1.StopNow(); err != nil {
			t.Fatal(err)
		}
		m1.Serve(g, uint64(n+1), protocol.SyncSet{Version: uint64(n + 1)})
	}
}
