package client

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dbop-dev/kubectl-dbop/pkg/agent/api"
	"github.com/dbop-dev/kubectl-dbop/pkg/agent/protocol"
	"github.com/dbop-dev/kubectl-dbop/pkg/engine"
)

// status is what a member of three says: db-1 leads the agents, db-2 is the primary, db-3 the witness.
func status(member protocol.MemberID) api.Status {
	st := api.Status{Member: member, Version: "17.5", Token: "t", System: "7", Quorum: true, Leader: "db-1",
		Generation: 4, Phase: protocol.Serving, Primary: "db-2", Settings: protocol.Settings{Version: 2},
		Members: []api.Member{{ID: "db-1", Voter: true, Joined: true, Volume: "a"},
			{ID: "db-2", Voter: true, Joined: true, Volume: "b"}, {ID: "db-3", Voter: true, Witness: true, Joined: true},
			{ID: "db-4", Joined: true, Volume: "c"}, {ID: "db-5"}}, Removed: []protocol.MemberID{"db-0"},
		Set: protocol.SyncSet{Primary: protocol.Standby{Member: "db-2"}, Need: 1,
			Standbys: []protocol.Standby{{Member: "db-1"}, {Member: "db-4"}}},
		Server: api.Server{Role: protocol.Replica, Generation: 4, Upstream: "db-2", Volume: "a", Settings: 2,
			Position: protocol.Position{Timeline: 3, Offset: 500}}}
	switch member {
	case "db-2":
		st.Server.Role, st.Server.Serving, st.Server.Upstream = protocol.Primary, true, ""
	case "db-3":
		st.Server, st.Version = api.Server{}, ""
	}
	return st
}

func TestView(t *testing.T) {
	t.Parallel()
	s := &Session{token: "t"}
	leaf := &x509.Certificate{Raw: []byte("leaf"), NotAfter: time.Unix(1<<30, 0)}
	shown := engine.PresentedBy(leaf)
	got := s.view([]said{{name: "db-1", status: status("db-1"), shown: leaf}, {name: "db-2", status: status("db-2")},
		{name: "db-3", status: status("db-3")}, {name: "db-4", err: errors.New("no route")}})
	member := func(name string, role engine.Role, version string, at engine.Position) engine.Member {
		return engine.Member{Name: name, Reachable: true, ID: name, ClusterID: "7@t", Role: role, Leader: "db-2",
			Version: version, Position: at, Serving: true}
	}
	want := engine.View{Quorum: true, ClusterIDs: []string{"7@t"}, Retired: []string{"db-0"},
		Settings: map[string]string{"durability": "", "acknowledge": "0", "max-lag": "0", "readonly-lag": "30s",
			"agreement": "0s", "drift-ppm": "0", "election-bound": "0s", "kill-and-reap": "0s", "lease": "0s",
			"probe-age": "0s", "renewal": "0s", "scheduling": "0s", "stop": "0s"},
		Members: []engine.Member{member("db-1", engine.RoleReplica, "17.5", "7/3/500"),
			member("db-2", engine.RolePrimary, "17.5", "7/3/500"), member("db-3", "witness", "", ""),
			{Name: "db-4", Role: engine.RoleUnknown, Problem: "no route"}},
		MemberList: []engine.Registered{{ID: "db-1", Name: "db-1", Voter: true, Started: true},
			{ID: "db-2", Name: "db-2", Voter: true, Started: true},
			{ID: "db-3", Name: "db-3", Voter: true, Witness: true, Started: true},
			{ID: "db-4", Name: "db-4", Spare: true, Started: true}, {ID: "db-5", Name: "db-5"}},
	}
	for i, sync := range []string{"yes", "1 of 2"} {
		want.Members[i].Readings = []engine.Reading{{Name: "sync", Value: sync}}
		want.Members[i].Details = []engine.Reading{{Name: "timeline", Value: "3"}}
	}
	want.Members[0].Certificate = &shown
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSettling: a replica that follows the primary and confirms no write yet, or has not told what it holds, is not
// whole. The leader of the agents says who confirms writes: the replica may not have heard it yet.
func TestSettling(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(leads, replica *api.Status)
		want   string
	}{
		"confirms": {func(_, _ *api.Status) {}, ""},
		"is not asked": {func(leads, _ *api.Status) { leads.Set.Standbys = leads.Set.Standbys[:1] },
			"does not confirm writes yet"},
		"has not heard": {func(_, replica *api.Status) { replica.Set.Standbys = nil }, ""},
		// As in a pair with durability=preferred right after its replica restarted.
		"nobody is asked yet": {func(leads, _ *api.Status) { leads.Set = protocol.SyncSet{} },
			"does not confirm writes yet"},
		"nobody is ever asked": {func(leads, _ *api.Status) {
			leads.Set, leads.Settings.Durability = protocol.SyncSet{}, protocol.Async
		}, ""},
		"reads its log": {func(_, replica *api.Status) { replica.Server.Unread = true }, "has not read its log yet"},
		"does not stream": {func(leads, replica *api.Status) {
			leads.Set.Standbys, replica.Server.Upstream = nil, ""
		}, ""},
	} {
		leads, replica := status("db-1"), status("db-4")
		test.change(&leads, &replica)
		v := (&Session{token: "t"}).view([]said{{name: "db-1", status: leads}, {name: "db-4", status: replica}})
		if got := v.Member("db-4").Settling; got != test.want {
			t.Errorf("%s: it %q, want %q", name, got, test.want)
		}
	}
}

// TestSpare: a member without a vote is whole only where the group gives it none.
func TestSpare(t *testing.T) {
	t.Parallel()
	voter := func(id protocol.MemberID) api.Member {
		return api.Member{ID: id, Voter: true, Joined: true, Volume: "v"}
	}
	other := func(id protocol.MemberID) api.Member { return api.Member{ID: id, Joined: true, Volume: "v"} }
	witness := api.Member{ID: "db-w", Witness: true, Joined: true}
	gone := other("db-g")
	gone.Heard = time.Minute
	never := other("db-n")
	never.Heard = -1
	for name, test := range map[string]struct {
		members []api.Member
		want    int
	}{
		"a pair whose witness has just joined":    {[]api.Member{voter("db-1"), other("db-2"), witness}, 0},
		"between the two votes":                   {[]api.Member{voter("db-1"), voter("db-2"), witness}, 0},
		"a pair without a witness":                {[]api.Member{voter("db-1"), other("db-2")}, 1},
		"three, and nobody to give a second vote": {[]api.Member{voter("db-1"), other("db-2"), gone}, 2},
		"a fourth": {[]api.Member{voter("db-1"), voter("db-2"), voter("db-3"),
			other("db-4")}, 1},
		"five, two of them gone, one of these back": {[]api.Member{voter("db-1"), voter("db-2"), voter("db-3"),
			other("db-4"), never}, 2},
		"five of which two have just joined": {[]api.Member{voter("db-1"), voter("db-2"), voter("db-3"), other("db-4"),
			other("db-5")}, 0},
		"a witness that three need no more": {[]api.Member{voter("db-1"), voter("db-2"), voter("db-3"), witness}, 1},
	} {
		spare := 0
		for _, r := range memberList(api.Status{Members: test.members}) {
			if r.Spare {
				spare++
			}
		}
		if spare != test.want {
			t.Errorf("%s: %d are spare, want %d", name, spare, test.want)
		}
	}
}

// TestSynchronous: the primary says how many replicas confirm a write, and a replica whether it is one of them.
func TestSynchronous(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*api.Status){
		"yes":    func(*api.Status) {},
		"no":     func(s *api.Status) { s.Set.Standbys = s.Set.Standbys[1:] },
		"1 of 2": func(s *api.Status) { s.Member = "db-2" },
		"none":   func(s *api.Status) { s.Member, s.Set.Need = "db-2", 0 },
		"":       func(s *api.Status) { s.Phase = protocol.Sealed },
	} {
		st := status("db-1")
		change(&st)
		if got := synchronous(st); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestDisk: how full the volume is shows whether the server runs or not.
func TestDisk(t *testing.T) {
	t.Parallel()
	st := status("db-1")
	st.Server = api.Server{Volume: "a", Disk: api.Disk{Used: 9, Total: 10}}
	m := (&Session{token: "t"}).member(said{name: "db-1", status: st})
	if m.Disk != (engine.Disk{Used: 9, Total: 10}) || m.Problem != "its server does not run" {
		t.Errorf("disk %+v, problem %q", m.Disk, m.Problem)
	}
}

// TestUnmeasured: what a server that runs did not tell is a warning.
func TestUnmeasured(t *testing.T) {
	t.Parallel()
	st := status("db-1")
	st.Server.Measures = api.Measures{Warnings: []string{"slow"}, Missing: []string{"the size: late"}, Stale: "busy",
		OnlyHere: []string{"a slot"},
		Details:  []api.Reading{{Name: "slots", Value: "feed 3Mi"}}}
	m := (&Session{token: "t"}).member(said{name: "db-1", status: st})
	want := []string{"slow", "not measured: the server did not answer (busy), and its warnings are those of before",
		"not measured: the size: late"}
	if diff := cmp.Diff(want, m.Warnings); diff != "" || m.Stale != "busy" || len(m.OnlyHere) != 1 {
		t.Errorf("%s, stale %q, only here %q", diff, m.Stale, m.OnlyHere)
	}
	if n := len(m.Details); n != 2 || m.Details[1].Name != "slots" {
		t.Errorf("details %+v", m.Details)
	}
	st.Server.Role = protocol.Stopped
	if m = (&Session{token: "t"}).member(said{name: "db-1", status: st}); len(m.Warnings) != 1 {
		t.Errorf("of a server that does not run it warns of %q", m.Warnings)
	}
}

// TestMember: what is wrong with a member shows.
func TestMember(t *testing.T) {
	t.Parallel()
	s := &Session{token: "t"}
	for name, c := range map[string]struct {
		change  func(*api.Status)
		serving bool
		problem string
	}{
		"sound": {func(*api.Status) {}, true, ""},
		"another incarnation": {func(s *api.Status) { s.Token = "u" }, true,
			"it belongs to another incarnation of the cluster"},
		"a primary of before": {func(s *api.Status) { s.Server.Generation = 3 }, false, ""},
		"another primary":     {func(s *api.Status) { s.Server.Upstream = "db-3" }, false, ""},
		"nobody leads":        {func(s *api.Status) { s.Quorum = false }, false, ""},
		"data of another fork": {func(s *api.Status) { s.Server.Unfit = "fork" }, true,
			"its data can't follow the primary: fork"},
		"settings of yesterday": {func(s *api.Status) { s.Server.Settings = 1 }, true,
			"it has not taken the settings yet that the members agreed on"},
		"stopped": {func(s *api.Status) { s.Server = api.Server{Volume: "a"} }, false, "its server does not run"},
		"does not start": {func(s *api.Status) { s.Server = api.Server{Volume: "a", Failing: "promote: no room"} }, false,
			"its server does not run: promote: no room"},
		"waits": {func(s *api.Status) { s.Blocked = "reports are missing" }, true, "reports are missing"},
	} {
		st := status("db-1")
		c.change(&st)
		m := s.member(said{name: "db-1", status: st})
		if m.Serving != c.serving || m.Problem != c.problem {
			t.Errorf("%s: serving %t, problem %q; want %t, %q", name, m.Serving, m.Problem, c.serving, c.problem)
		}
	}
}

// TestCandidates: who may be appointed by a person shows only while the agents wait for one.
func TestCandidates(t *testing.T) {
	t.Parallel()
	at := func(offset, bytes uint64, missing string) api.Report {
		return api.Report{Position: protocol.Position{Timeline: 1, Offset: offset},
			Loss: protocol.Loss{Bytes: bytes, Missing: missing}}
	}
	st := api.Status{Phase: protocol.Sealed, Blocked: "db-2 lacks 9 bytes", Reports: map[protocol.MemberID]api.Report{
		"db-2": at(1, 9, ""), "db-3": at(8, 2, "db-1 did not report"), "db-1": at(1, 9, "")}}
	lost := func(bytes string) string {
		return bytes + " bytes of what the last primary published are missing, and all that followed it"
	}
	want := []engine.Candidate{{Member: "db-3", Loss: lost("2") + "; db-1 did not report"},
		{Member: "db-1", Loss: lost("9")}, {Member: "db-2", Loss: lost("9")}}
	if diff := cmp.Diff(want, candidates(st)); diff != "" {
		t.Error(diff)
	}
	serving, settling := st, st
	serving.Phase, settling.Blocked = protocol.Serving, ""
	for _, s := range []api.Status{serving, settling} {
		if got := candidates(s); got != nil {
			t.Errorf("got %v in phase %s, blocked %q", got, s.Phase, s.Blocked)
		}
	}
}
