package group

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// TestStaleEntries: a voter keeps entries of a leader that lost its office before they were agreed on. A request of the
// next leader that does not reach them, and says that more is agreed on, must not have them applied.
func TestStaleEntries(t *testing.T) {
	applied := make(chan string, 10)
	config := raft.DefaultConfig()
	config.LocalID, config.LogOutput = "a", io.Discard
	logs := raft.NewInmemStore()
	listener, sender := listen(t), listen(t)
	transport := raft.NewNetworkTransport(layer{listener}, 1, time.Second, io.Discard)
	of := raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a"}, {ID: "b", Address: "b"},
		{ID: "c", Address: "c"}}}
	// The last two are what this voter has of its own term as the leader, which nobody else received.
	err := errors.Join(raft.BootstrapCluster(config, logs, logs, raft.NewDiscardSnapshotStore(), transport, of),
		logs.SetUint64([]byte("CurrentTerm"), 2), logs.StoreLogs([]*raft.Log{{Index: 2, Term: 2, Type: raft.LogNoop},
			{Index: 3, Term: 2, Type: raft.LogCommand, Data: []byte("stale")}}))
	if err != nil {
		t.Fatal(err)
	}
	a, err := raft.NewRaft(config, recorder(applied), logs, logs, raft.NewDiscardSnapshotStore(), transport)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Shutdown().Error() }()
	inner := raft.NewNetworkTransport(layer{sender}, 1, time.Second, io.Discard)
	to := newPaced(newResumed(inner, nil), time.Second, works)
	defer func() { _ = to.Close() }()
	at := raft.ServerAddress(listener.Addr().String())
	send := func(r raft.AppendEntriesRequest) {
		t.Helper()
		r.Term = 3
		r.RPCHeader = raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte("b"), Addr: []byte("b")}
		var resp raft.AppendEntriesResponse
		err := to.AppendEntries("a", at, &r, &resp)
		if err == nil && resp.Success {
			return
		}
		select { // a voter that applied what it must not may hang
		case got := <-applied:
			t.Fatalf("the voter applied what was never agreed on: %q", got)
		default:
			t.Fatalf("the request failed: %v, %+v", err, resp)
		}
	}
	send(raft.AppendEntriesRequest{PrevLogEntry: 1, PrevLogTerm: 1, LeaderCommitIndex: 3})
	send(raft.AppendEntriesRequest{PrevLogEntry: 1, PrevLogTerm: 1, LeaderCommitIndex: 3, Entries: []*raft.Log{
		{Index: 2, Term: 3, Type: raft.LogNoop}, {Index: 3, Term: 3, Type: raft.LogCommand, Data: []byte("agreed")}}})
	select {
	case got := <-applied:
		if got != "agreed" {
			t.Errorf("the voter applied what was never agreed on: %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was applied")
	}
}

// TestPace: a follower hears something in each interval, and a heartbeat only if it heard nothing else.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPaced(nil, time.Second, works)
		began, last, longest, beats := time.Now(), time.Now(), time.Duration(0), 0
		var mu sync.Mutex
		hear := func() {
			mu.Lock()
			defer mu.Unlock()
			now := time.Now()
			longest, last = max(longest, now.Sub(last)), now
			p.note("a", now)
		}
		var all sync.WaitGroup
		all.Go(func() { // renewals
			for range 60 {
				time.Sleep(time.Second)
				hear()
			}
		})
		for time.Since(began) < time.Minute {
			time.Sleep(150 * time.Millisecond) // as the library does
			p.wait("a")
			hear()
			beats++
		}
		all.Wait()
		if longest > p.interval || beats < 100 || beats > 125 {
			t.Errorf("%d heartbeats in a minute, nothing heard for %s", beats, longest)
		}
	})
}

// listen opens a port of this machine.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// layer is a listener that dials by addresses.
type layer struct{ net.Listener }

// Dial connects.
func (layer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	return net.DialTimeout("tcp", string(address), timeout)
}

// recorder takes what is applied.
type recorder chan<- string

// Apply tells of an entry.
func (r recorder) Apply(l *raft.Log) any {
	r <- string(l.Data)
	return nil
}

// Snapshot is not taken.
func (recorder) Snapshot() (raft.FSMSnapshot, error) { return nil, errHalted }

// Restore is not done.
func (recorder) Restore(io.ReadCloser) error { return errHalted }

// works is a log that does not hang.
func works() bool { return false }

// TestSilentLeader: a leader whose log hangs sends no word. It has no transport here.
func TestSilentLeader(t *testing.T) {
	t.Parallel()
	s := &store{busy: map[int]time.Time{1: time.Now().Add(-2 * time.Second)}}
	for election, silent := range map[time.Duration]bool{time.Second: true, time.Minute: false} {
		p := newPaced(nil, election, func() bool { return s.hangs(time.Now(), election) })
		if p.hangs() != silent {
			t.Errorf("with %s it is silent: %t", election, !silent)
		}
		if !silent {
			continue
		}
		for name, r := range map[string]*raft.AppendEntriesRequest{
			"a heartbeat": {}, "its index": {PrevLogEntry: 7, PrevLogTerm: 2, LeaderCommitIndex: 7},
		} {
			if err := p.AppendEntries("a", "a", r, nil); !errors.Is(err, errHangs) {
				t.Errorf("it sends %s: %v", name, err)
			}
		}
	}
}
