//go:build linux

package postgres

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/postgres/local"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
)

// pair returns a primary of generation 1 on timeline 2, and its replica.
func pair(t *testing.T) (*site, *place, *place) {
	t.Helper()
	s := newSite(t)
	m1, m2 := s.open("m1"), s.open("m2")
	o := m1.Must(protocol.Job{Kind: protocol.Initialise})
	if o.Volume == "" || o.System == "" || o.Role != protocol.Stopped || o.Unread || o.Position.Timeline != 1 {
		t.Fatalf("after initialise: %+v", o)
	}
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 1})
	o = m1.Serve(1, 2, protocol.SyncSet{Version: 1})
	if o.Role != protocol.Primary || o.Generation != 1 || o.Position.Timeline != 2 || o.Set != 1 || o.Floor != 1 {
		t.Fatalf("after promote: %+v", o)
	}
	m1.sql("CREATE TABLE rows (id int)")
	copied := m2.Must(protocol.Job{Kind: protocol.Clone, Generation: 1, Member: "m1"}).CopiedIn
	if copied != 1 || o.CopiedIn != 0 {
		t.Errorf("they were copied from the primaries of %d and %d", o.CopiedIn, copied)
	}
	m2.Must(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"})
	m1.Wait("m2 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
	return s, m1, m2
}

func (p *place) standby() protocol.Standby {
	return protocol.Standby{Member: p.ID, Volume: p.identity.Volume}
}

// TestSwitchover stops a primary in order: the positions of both are equal then, to the byte, and nobody is rewound.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	set := protocol.SyncSet{Version: 2, Standbys: []protocol.Standby{m2.standby()}, Need: 1}
	if o := m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set}); o.Set != 2 || o.SetAt == 0 {
		t.Fatalf("after load: %+v", o)
	}
	if got := m1.sql("SHOW synchronous_standby_names"); !strings.HasPrefix(got, `ANY 1 ("m2.`) {
		t.Fatalf("synchronous_standby_names is %q", got)
	}
	m1.sql("INSERT INTO rows SELECT generate_series(1, 10000)")
	m1.Must(protocol.Job{Kind: protocol.Checkpoint, Generation: 1})
	o := m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	if o.Role != protocol.Stopped || o.Unread {
		t.Fatalf("after a stop in order: %+v", o)
	}
	if others := m1.Others(); len(others) != 0 {
		t.Fatalf("processes are left: %v", others)
	}
	m1.Serving = 0
	report := m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if o.Position != report.Position || report.Floor != 2 || report.Upstream != "" || report.Unread {
		t.Fatalf("the primary ended at %s, the replica reports %+v", o.Position, report)
	}
	m2.Serve(2, 5, protocol.SyncSet{Version: 3}) // timelines 3 and 4 were given to others
	if got := m2.sql("SELECT timeline_id FROM pg_control_checkpoint()"); got != "5" {
		m2.sql("CHECKPOINT")
		if got = m2.sql("SELECT timeline_id FROM pg_control_checkpoint()"); got != "5" {
			t.Errorf("it is on timeline %s, want 5", got)
		}
	}
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if err := m1.Try(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m2"}); err == nil {
		t.Error("it follows a primary of a generation before its report")
	}
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m2.Wait("m1 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
	m2.sql("INSERT INTO rows VALUES (0)")
	end := m2.Observe(t.Context()).Position
	m1.Wait("the row", func(o protocol.Server) bool { return o.Position.Compare(end) >= 0 && o.Position.Timeline == 5 })
}

// printed is what a server printed.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// sessions counts those that were opened under a name.
func (p *printed) sessions(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Count(p.text.String(), "connection authorized: user=dbop database=postgres application_name="+name)
}

// TestPromotionStarts: a promotion opens no session for a question. Clients wait for it, and a busy processor takes up
// to a tenth of a second for each.
func TestPromotionStarts(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	m1.Serving = 0
	m2.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	said := &printed{}
	m2.Log = said
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2,
		Settings: protocol.Settings{Version: 1, Values: map[string]string{"log_connections": "on"}}})
	before, began := said.sessions("agent"), m2.Now()
	m2.Serve(2, 3, protocol.SyncSet{Version: 2})
	conn, err := local.Dial(t.Context(), m2.Session(m2.Port, "postgres", "last"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	for deadline := time.Now().Add(20 * time.Second); said.sessions("last") == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server does not say who connects")
		}
	}
	if after := said.sessions("agent"); after != before {
		t.Errorf("it opened %d sessions", after-before)
	}
	time.Sleep(firstProbe / 2)
	if took := m2.Now().Sub(began); said.sessions("probe") > 0 && took < firstProbe {
		t.Errorf("it is probed within %s", took)
	}
}

// TestRewind kills a primary that has rows which no replica has. Its position is known only after its log was read; it
// comes back without these rows.
func TestRewind(t *testing.T) {
	t.Parallel()
	s, m1, m2 := pair(t)
	m1.sql("INSERT INTO rows VALUES (1)")
	end := m1.Observe(t.Context()).Position
	m2.Wait("row 1", func(o protocol.Server) bool { return o.Position.Compare(end) >= 0 })
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	m1.sql("INSERT INTO rows SELECT 2 FROM generate_series(1, 1000)")
	last := m1.Observe(t.Context()).Position
	if err := syscall.Kill(m1.running().Cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if o := m1.Wait("the end", func(o protocol.Server) bool { return o.Role == protocol.Stopped }); !o.Unread {
		t.Errorf("the position after a crash is %s; it must be read first", o.Position)
	}
	if others := m1.Others(); len(others) != 0 {
		t.Errorf("processes are left: %v", others)
	}
	_ = m1.Close()
	m1 = s.open("m1") // as after a restart of the agent
	o := m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if o.Unread || o.Position.Compare(last) < 0 || o.Role == protocol.Primary {
		t.Errorf("it held %s and reports %+v", last, o)
	}
	m2.Serve(2, 3, protocol.SyncSet{Version: 2})
	m2.sql("INSERT INTO rows VALUES (3)")
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m2.Wait("m1 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
	end = m2.Observe(t.Context()).Position
	m1.Wait("row 3", func(o protocol.Server) bool { return o.Position.Compare(end) >= 0 && !o.Unread })
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 3}) // so that it has applied all
	m1.Wait("the rows", func(protocol.Server) bool { return m1.sql("SELECT DISTINCT id FROM rows ORDER BY 1") == "1,3" })
}

// TestManaged tries to take settings from the agent.
func TestManaged(t *testing.T) {
	t.Parallel()
	_, m1, _ := pair(t)
	m1.sql("ALTER SYSTEM SET restart_after_crash = on")
	m1.sql("ALTER SYSTEM SET synchronous_standby_names = 'somebody'")
	m1.sql("SELECT pg_reload_conf()")
	m1.Wait("the other names", func(protocol.Server) bool {
		return m1.sql("SHOW synchronous_standby_names") == "somebody"
	})
	if o := m1.Observe(t.Context()); o.Set != 0 {
		t.Errorf("the set %d seems to be loaded", o.Set)
	}
	if got := m1.sql("SHOW restart_after_crash"); got != "off" {
		t.Errorf("restart_after_crash is %s", got)
	}
	values := map[string]string{"work_mem": "8MB", "fsync": "off", "application_name": `it's "x" \`}
	o := m1.Must(protocol.Job{Kind: protocol.Reload, Generation: 1,
		Settings: protocol.Settings{Version: 7, Values: values}})
	if o.Settings != 7 || o.Set != 1 {
		t.Errorf("after a reload: %+v", o)
	}
	if got := m1.sql("SELECT current_setting('work_mem'), current_setting('fsync')"); got != "8MB on" {
		t.Errorf("work_mem and fsync are %s", got)
	}
	raw, err := os.ReadFile(filepath.Join(m1.pgdata(), "postgresql.auto.conf"))
	if err != nil || strings.Contains(string(raw), "restart_after_crash") {
		t.Errorf("ALTER SYSTEM keeps %s: %v", raw, err)
	}
}

// TestArguments holds that nothing secret and nothing that a file could override is missing on the command line.
func TestArguments(t *testing.T) {
	t.Parallel()
	s := &Server{Config: Config{Server: local.Server{Sockets: "/s", Port: 5432, Major: 15}, ID: "m1",
		Directory: "/v"}}
	args := s.arguments()
	for _, want := range []string{"restart_after_crash=off", "wal_log_hints=on", "fsync=on", "full_page_writes=on"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestRewindTwice promotes a member twice without a checkpoint in between, and then rewinds it.
func TestRewindTwice(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	for g := range protocol.Generation(2) {
		m1.sql("INSERT INTO rows VALUES (1)")
		m1.Must(protocol.Job{Kind: protocol.StopNow})
		m1.Must(protocol.Job{Kind: protocol.Cut, Generation: g + 2})
		m1.Serve(g+2, uint64(g)+3, protocol.SyncSet{Version: 2})
	}
	m1.sql("INSERT INTO rows VALUES (1)")
	m1.Must(protocol.Job{Kind: protocol.StopNow})
	m1.Serving = 0
	m2.Serve(4, 5, protocol.SyncSet{Version: 4})
	m2.sql("INSERT INTO rows VALUES (2)")
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 4, Member: "m2"})
	m2.Wait("m1 streams", func(o protocol.Server) bool { return len(o.Standbys) == 1 })
	m1.Wait("the rows", func(protocol.Server) bool { return m1.sql("SELECT DISTINCT id FROM rows") == "2" })
}
