//go:build linux

package valkey

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

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
	if o.Role != protocol.Primary || o.Generation != 1 || o.Set != 1 || o.Floor != 1 {
		t.Fatalf("after promote: %+v", o)
	}
	m1.command("SET", "a", "1")
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

// confirmed writes a key and returns how many replicas acknowledged that within a time. A session waits for its own
// writes only.
func (p *place) confirmed(key, milliseconds string) string {
	p.T.Helper()
	c, err := p.enter(p.T.Context())
	if err != nil {
		p.T.Fatal(err)
	}
	defer c.Close()
	p.written(func() (string, error) { return c.Do(p.T.Context(), "SET", key, "1") })
	got, err := c.Do(p.T.Context(), "WAIT", "1", milliseconds)
	if err != nil {
		p.T.Fatal(err)
	}
	return got
}

// reaches waits until a member holds what another one holds now.
func (p *place) reaches(o *place) {
	p.T.Helper()
	end := o.Observe(p.T.Context()).Position
	p.Wait("the end of "+string(o.ID), func(o protocol.Server) bool { return o.Position.Compare(end) >= 0 })
}

// TestSwitchover stops a primary in order. Its replica holds all of it then, and the old primary comes back.
func TestSwitchover(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	set := protocol.SyncSet{Version: 2, Standbys: []protocol.Standby{m2.standby()}, Need: 1}
	if o := m1.Must(protocol.Job{Kind: protocol.Load, Generation: 1, Set: set}); o.Set != 2 || o.SetAt == 0 {
		t.Fatalf("after load: %+v", o)
	}
	for i := range 1000 {
		m1.command("SET", strconv.Itoa(i), "x")
	}
	if got := m1.confirmed("b", "5000"); got != "1" {
		t.Errorf("%s replicas acknowledge", got)
	}
	o := m1.Must(protocol.Job{Kind: protocol.StopFast, Generation: 1})
	if o.Role != protocol.Stopped || o.Unread {
		t.Fatalf("after a stop in order: %+v", o)
	}
	if others := m1.Others(); len(others) != 0 {
		t.Fatalf("processes are left: %v", others)
	}
	m1.Serving = 0
	report := m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if report.Position.Compare(o.Position) < 0 || report.Floor != 2 || report.Upstream != "" || report.Unread {
		t.Fatalf("the primary ended at %s, the replica reports %+v", o.Position, report)
	}
	m2.Serve(2, 5, protocol.SyncSet{Version: 3}) // timelines 3 and 4 were given to others
	m2.command("SET", "b", "2")
	m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if err := m1.Try(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m2"}); err == nil {
		t.Error("it follows a primary of a generation before its report")
	}
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m1.reaches(m2)
	if got := m1.command("DBSIZE"); got != "1002" {
		t.Errorf("it holds %s keys", got)
	}
	if o := m1.Observe(t.Context()); o.Position.Timeline != 5 || o.Upstream != "m2" || o.CopiedIn != 2 {
		t.Errorf("the old primary is %+v", o)
	}
}

// TestCrash kills a primary. A replica that it had goes on with the next one, without a copy of all data;
// the old primary counts more than it may hold, and is copied again.
func TestCrash(t *testing.T) {
	t.Parallel()
	s, m1, m2 := pair(t)
	m3 := s.open("m3")
	m3.Must(protocol.Job{Kind: protocol.Clone, Generation: 1, Member: "m1"})
	m3.Must(protocol.Job{Kind: protocol.Follow, Generation: 1, Member: "m1"})
	m1.command("SET", "b", "1")
	m2.reaches(m1)
	m3.reaches(m1)
	// The primary sends a ping now and then. Who is cut last, has all that the other one has.
	m3.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	m2.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	for range 100 {
		m1.command("INCR", "lost")
	}
	last := m1.Observe(t.Context()).Position
	if err := syscall.Kill(m1.running().Cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	m1.Wait("the end", func(o protocol.Server) bool { return o.Role == protocol.Stopped })
	if others := m1.Others(); len(others) != 0 {
		t.Errorf("processes are left: %v", others)
	}
	_ = m1.Close()
	m1 = s.open("m1") // as after a restart of the agent
	o := m1.Must(protocol.Job{Kind: protocol.Cut, Generation: 2})
	if o.Unread || o.Position.Compare(last) < 0 || o.Role == protocol.Primary {
		t.Errorf("it held %s and reports %+v", last, o)
	}
	before := m3.standby()
	m2.Serve(2, 3, protocol.SyncSet{Version: 2})
	m2.command("SET", "c", "1")
	m3.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m3.reaches(m2)
	if m3.standby() != before {
		t.Error("a replica that held no more than the primary was copied again")
	}
	m1.Must(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m2"})
	m1.reaches(m2)
	if got := m1.command("EXISTS", "lost", "a", "b", "c"); got != "3" {
		t.Errorf("%s of three keys are there", got)
	}
	// A replica that crashed says nothing, unless nobody counts on its acknowledgements.
	if err := m3.StopNow(); err != nil {
		t.Fatal(err)
	}
	if err := m3.Try(protocol.Job{Kind: protocol.Cut, Generation: 3}); err == nil {
		t.Error("a replica that crashed reports")
	}
	o = m3.Must(protocol.Job{
		Kind: protocol.Cut, Generation: 3, Settings: protocol.Settings{Durability: protocol.Async},
	})
	if o.Unread {
		t.Errorf("with durability async it is %+v", o)
	}
}

// TestEmptyPrimary has a primary whose volume was emptied and that made another database: its replica keeps its data.
func TestEmptyPrimary(t *testing.T) {
	t.Parallel()
	s, m1, m2 := pair(t)
	m2.reaches(m1)
	if err := errors.Join(m1.Close(), os.RemoveAll(m1.Directory())); err != nil {
		t.Fatal(err)
	}
	m1 = s.open("m1")
	m1.Must(protocol.Job{Kind: protocol.Initialise})
	m1.Serve(2, 3, protocol.SyncSet{Version: 1})
	err := m2.Try(protocol.Job{Kind: protocol.Follow, Generation: 2, Member: "m1"})
	if err == nil || !strings.Contains(err.Error(), "its database is") {
		t.Errorf("to follow an empty primary gives %v", err)
	}
	if got := m2.command("GET", "a"); got != "1" {
		t.Errorf("the replica holds %q", got)
	}
	// A copy without files is not taken for an empty database.
	if err := errors.Join(m2.StopNow(), os.RemoveAll(db(m2.data()))); err != nil {
		t.Fatal(err)
	}
	if o := m2.Observe(t.Context()); o.Unfit == "" || !o.Unread {
		t.Errorf("without files it is %+v", o)
	}
}

// TestAcknowledgements holds that only a copy in the loaded set acknowledges.
func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	_, m1, m2 := pair(t)
	other := protocol.Standby{Member: "m3", Volume: "x"}
	m1.Must(protocol.Job{Kind: protocol.Load, Set: protocol.SyncSet{
		Version: 2, Standbys: []protocol.Standby{other}, Need: 1,
	}})
	if got := m1.confirmed("b", "1500"); got != "0" {
		t.Errorf("%s copies outside of the set acknowledge", got)
	}
	m1.Must(protocol.Job{Kind: protocol.Load, Set: protocol.SyncSet{
		Version: 3, Standbys: []protocol.Standby{other, m2.standby()}, Need: 1,
	}})
	if got := m1.confirmed("b", "5000"); got != "1" {
		t.Errorf("%s copies in the set acknowledge", got)
	}
	m1.Must(protocol.Job{Kind: protocol.Load, Set: protocol.SyncSet{Version: 4, Need: 2}})
	if _, err := m1.ask(t.Context(), "SET", "b", "3"); err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("a write without enough replicas gives %v", err)
	}
}
