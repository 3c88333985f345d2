//go:build linux

package postgres

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// TestMain gives up root's rights: PostgreSQL refuses to run with them. Processes that lose their parent become
// children of this one, as of a guard.
func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	if os.Getuid() == 0 {
		flag.Parse()
		if err := flag.Set("test.testlogfile", ""); err != nil { // it is root's
			panic(err)
		}
		u, err := user.Lookup("nobody")
		if err != nil {
			panic(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := syscall.Setgroups(nil); err != nil {
			panic(err)
		}
		if err := syscall.Setresgid(gid, gid, gid); err != nil {
			panic(err)
		}
		if err := syscall.Setresuid(uid, uid, uid); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// programs finds PostgreSQL as Debian lays it out, or skips the test.
func programs(t *testing.T) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed: hack/postgres.sh does it")
	}
	return filepath.Dir(found[len(found)-1])
}

// place is a member of a test: its driver, and what it may do.
type place struct {
	*Server
	t       *testing.T
	id      protocol.MemberID
	serving protocol.Generation
}

// site has members whose agents reach each other.
type site struct {
	t      *testing.T
	dir    string
	mu     sync.Mutex
	places map[protocol.MemberID]*place
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "pg") //nolint:usetesting // that one's name is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &site{t: t, dir: dir, places: map[protocol.MemberID]*place{}}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// open starts the driver of a member. Its volume is kept from one to the next.
func (s *site) open(id protocol.MemberID) *place {
	s.t.Helper()
	p := &place{t: s.t, id: id}
	began := time.Now()
	c := Config{
		ID: id, Directory: filepath.Join(s.dir, string(id)), Sockets: filepath.Join(s.dir, "s"+string(id)),
		Bin:    programs(s.t),
		Listen: "127.0.0.1", Port: freePort(s.t), Log: s.t.Output(),
		Now:    func() protocol.Instant { return protocol.Instant(time.Since(began)) },
		Report: func(what string) { s.t.Logf("%s reports: %s", id, what) },
		Dial: func(to protocol.MemberID) (net.Conn, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			other := s.places[to]
			if other == nil {
				return nil, fmt.Errorf("no member %s", to)
			}
			ours, theirs := net.Pipe()
			go func() {
				other.Downstream.Handle(id, theirs)
				_ = theirs.Close()
			}()
			return ours, nil
		},
		Serves: func(g protocol.Generation, _ protocol.MemberID) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return p.serving == g
		},
	}
	c.Others = func() []int { return runningIn(c.pgdata()) }
	server, err := Open(c)
	if err != nil {
		s.t.Fatal(err)
	}
	p.Server = server
	s.t.Cleanup(func() { _ = server.Close() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places[id] = p
	return p
}

// runningIn returns the processes whose working directory is a data directory: all of PostgreSQL's.
func runningIn(pgdata string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if cwd, err := os.Readlink("/proc/" + e.Name() + "/cwd"); err == nil && cwd == pgdata {
			pids = append(pids, pid)
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil) // of those that lost their parent
		}
	}
	return pids
}

// do performs a job that must succeed.
func (p *place) do(job protocol.Job) protocol.Server {
	p.t.Helper()
	if err := p.try(job); err != nil {
		p.t.Fatalf("%s: %s: %v", p.id, job.Kind, err)
	}
	return p.Observe(p.t.Context())
}

func (p *place) try(job protocol.Job) error {
	ctx, stop := context.WithTimeout(p.t.Context(), time.Minute)
	defer stop()
	return p.Do(ctx, job, func() bool { return true })
}

// serve makes a member the primary of a generation.
func (p *place) serve(g protocol.Generation, timeline uint64, set protocol.SyncSet) protocol.Server {
	p.t.Helper()
	p.serving = g
	return p.do(protocol.Job{Kind: protocol.Promote, Generation: g, Timeline: timeline, Set: set})
}

// sql asks the server of a member.
func (p *place) sql(statements string) string {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), 20*time.Second)
	defer stop()
	got, err := p.once(ctx, statements)
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.id, statements, err)
	}
	var cells []string
	for _, row := range got[len(got)-1] {
		cells = append(cells, strings.Join(row, " "))
	}
	return strings.Join(cells, ",")
}

// wait polls until something holds.
func (p *place) wait(what string, holds func(protocol.Server) bool) protocol.Server {
	p.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		o := p.Observe(p.t.Context())
		if holds(o) {
			return o
		}
		if time.Since(began) > time.Minute {
			p.t.Fatalf("%s: waited in vain: %s; it is %+v", p.id, what, o)
		}
	}
}
