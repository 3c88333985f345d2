package protocol

import (
	"strings"
	"testing"
	"time"
)

// start returns a node that holds a document.
func start(d *Document, id MemberID, number uint64, now Instant) *Node {
	n := New(Config{ID: id, Start: number, LastIndex: d.Index, Document: *d, Now: now})
	m := d.Members[id]
	n.Step(now, Observed{Server: Server{System: d.System, Volume: m.Volume, Position: d.Reports[id].Position}})
	return n
}

func find[E Effect](effects []Effect) (found E, ok bool) {
	for _, e := range effects {
		if found, ok = e.(E); ok {
			return found, true
		}
	}
	return found, false
}

func proposed[E Entry](effects []Effect) (found E, ok bool) {
	for _, e := range effects {
		if p, is := e.(Propose); is {
			if found, ok = p.Entry.(E); ok {
				return found, true
			}
		}
	}
	return found, false
}

const second = Instant(time.Second)

// TestDeadline follows an appointed member up to its deadline.
func TestDeadline(t *testing.T) {
	t.Parallel()
	d := founded(t, Async)
	agree(t, d, &Appoint{Member: "m1", Generation: 1, Timeline: 1, Set: FirstSet(d, "m1")})
	n := start(d, "m1", 1, 100*second)
	n.lease.next = 0
	effects := n.Step(100*second, Tick{})
	renewal, ok := proposed[*Renew](effects)
	if !ok {
		t.Fatalf("no renewal: %+v", effects)
	}
	if _, promotes := find[Do](effects); promotes {
		t.Error("it acts before its lease is agreed")
	}
	effects = n.Step(103*second, Applied{Index: d.Index + 1, Entry: renewal})
	deadline, armed := find[SetDeadline](effects)
	if want := Instant(105500 * time.Millisecond); !armed || deadline.At != want {
		t.Errorf("the deadline is %v, want %v: it counts from before the renewal was sent", deadline.At, want)
	}
	if job, ok := find[Do](effects); !ok || job.Job.Kind != Promote {
		t.Errorf("no promotion: %+v", effects)
	}
	n.Step(103*second, Observed{Server: Server{System: "system", Volume: "v1", Role: Primary, Generation: 1,
		Flushed: 103 * second}})
	if !n.Serves(105*second) || n.Serves(105500*Instant(time.Millisecond)) {
		t.Error("it serves until its deadline and no longer")
	}
	if job, ok := find[Do](n.Step(106*second, Tick{})); !ok || job.Job.Kind != StopNow {
		t.Error("it does not stop its server at the deadline")
	}
}

func TestNoPromotionAfterTheDeadline(t *testing.T) {
	t.Parallel()
	d := founded(t, Async)
	agree(t, d, &Appoint{Member: "m1", Generation: 1, Timeline: 1, Set: FirstSet(d, "m1")})
	n := start(d, "m1", 1, 0)
	n.lease.next = 0
	renewal, _ := proposed[*Renew](n.Step(0, Tick{}))
	effects := n.Step(6*second, Applied{Index: d.Index + 1, Entry: renewal})
	if job, ok := find[Do](effects); ok {
		t.Errorf("a renewal that was agreed after its own deadline leads to %v", job)
	}
}

// TestSealWaits lets a leader see the last renewal, and another one that starts later.
func TestSealWaits(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	n := start(d, "m2", 1, 50*second)
	n.Step(50*second, Led{Leading: true})
	for _, c := range []struct {
		at   Instant
		want bool
	}{{56*second + 999*Instant(time.Millisecond), false}, {57 * second, true}} {
		if _, seals := proposed[*Seal](n.Step(c.at, Tick{})); seals != c.want {
			t.Errorf("at %v: seals %v, want %v: a whole lease after its own start", time.Duration(c.at), seals, c.want)
		}
	}
}

// TestReportAfterCut checks that a member reports only once its floor is on disk and its upstream is gone.
func TestReportAfterCut(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	agree(t, d, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber})
	n := start(d, "m2", 1, 0)
	server := Server{System: "system", Volume: "v2", Role: Replica, Generation: 1, Upstream: "m1"}
	for _, c := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"it streams", func() {}, false},
		{"the floor is on disk", func() { server.Floor = 2 }, false},
		{"and nothing streams", func() { server.Upstream = "" }, true},
	} {
		c.change()
		n.Step(0, Observed{Server: server})
		clear(n.proposed)
		if _, reports := proposed[*Reported](n.Step(0, Tick{})); reports != c.want {
			t.Errorf("%s: reports %v, want %v", c.name, reports, c.want)
		}
	}
}

func TestRestartedPrimaryReleases(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	n := start(d, "m1", 2, 0)
	effects := n.Step(second, Tick{})
	if _, early := proposed[*Release](effects); early || n.job.Kind != StopNow {
		t.Errorf("it releases before it stopped what may be left of its server: %+v", effects)
	}
	effects = n.Step(second, Done{Job: n.job})
	if r, ok := proposed[*Release](effects); !ok || r.Process != 2 {
		t.Errorf("no release of the lease of the start before: %+v", effects)
	}
	if _, renews := proposed[*Renew](n.Step(3*second, Tick{})); renews {
		t.Error("it renews what it released")
	}
}

// TestReleasePublishesTheEnd: what a primary wrote since its last renewal counts once it stopped in order, so that no
// member that lacks more than maxLag of it is appointed.
func TestReleasePublishesTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		unread bool
		want   uint64
	}{{"stopped in order", false, 5000}, {"killed", true, 1000}} {
		d := serving(t, Async)
		n := start(d, "m1", 2, 0)
		n.Step(second, Tick{})
		n.Step(second, Observed{Server: Server{System: d.System, Volume: "v1", Unread: c.unread,
			Position: Position{Timeline: 1, Offset: 5000}}})
		release, ok := proposed[*Release](n.Step(second, Done{Job: n.job}))
		if !ok {
			t.Fatalf("%s: no release", c.name)
		}
		agree(t, d, release, &Seal{Generation: 2, LeaseNumber: d.LeaseNumber},
			&Reported{Member: "m2", Generation: 2, Report: Report{Volume: "v2", Position: Position{Timeline: 1, Offset: 990}}})
		if d.Published.Offset != c.want {
			t.Errorf("%s: %d is published, want %d", c.name, d.Published.Offset, c.want)
		}
		if best, _ := Choose(d); (best == "") != (c.want-990 > d.Settings.MaxLag) {
			t.Errorf("%s: %q is chosen", c.name, best)
		}
	}
}

// TestRetiredWithoutMajority: an agent that ends does not wait for ever for others that end too.
func TestRetiredWithoutMajority(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	n := start(d, "m1", 1, 0)
	n.lease.promoted = 1
	n.Step(second, Retire{})
	if n.job.Kind != StopNow || n.Retired() {
		t.Fatalf("its job is %q, retired %v", n.job.Kind, n.Retired())
	}
	n.Step(2*second, Done{Job: n.job})
	for _, c := range []struct {
		at   Instant
		want bool
	}{{3 * second, false}, {5 * second, false}, {6 * second, true}} {
		n.Step(c.at, Tick{})
		if n.Retired() != c.want {
			t.Errorf("%v: retired %v", c.at, n.Retired())
		}
	}
}

// TestRetiredWithoutData: an agent whose first data can't be made ends once the try that is at work did.
func TestRetiredWithoutData(t *testing.T) {
	t.Parallel()
	d := &Document{}
	agree(t, d,
		&Configured{Voters: []MemberID{"m1"}},
		&Found{Token: "token", InitialMembers: []InitialMember{{ID: "m1"}}, Settings: Settings{Timing: DefaultTiming(),
			Durability: Async, MaxLag: 100}},
		&Joined{Member: "m1", Start: 1, Level: 1}, &GrantInit{Member: "m1", Number: 1})
	n := start(d, "m1", 1, 0)
	tries := n.job
	n.Step(second, Done{Job: tries})
	if tries.Kind != Initialise || n.job.Kind != Initialise {
		t.Fatalf("its jobs are %q and %q", tries.Kind, n.job.Kind)
	}
	n.Step(2*second, Retire{})
	if n.Retired() {
		t.Error("it ends while its first data is made")
	}
	n.Step(3*second, Done{Job: tries})
	if !n.Retired() {
		t.Errorf("its job is %q", n.job.Kind)
	}
}

func TestRolledBackVolume(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	agree(t, d, &Joined{Member: "m2", Start: 9, Level: 1})
	n := start(d, "m2", 5, 0)
	if !strings.Contains(n.Blocked(), "rolled back") {
		t.Errorf("blocked: %q", n.Blocked())
	}
	n = start(d, "m1", 1, 0)
	n.Step(0, Applied{Index: d.Index + 1, Entry: &Renew{Member: "m2", At: d.Index, Chain: "other"}})
	if !strings.Contains(n.Blocked(), "other entries") {
		t.Errorf("blocked: %q", n.Blocked())
	}
}

func TestUnknownEntryStops(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	n := start(d, "m2", 1, 0)
	n.Step(0, Led{Leading: true})
	effects := n.Step(0, Halted{Why: ErrUnknownKind.Error()})
	if _, ok := find[StepDown](effects); !ok || n.Blocked() == "" {
		t.Errorf("it goes on leading: %+v", effects)
	}
	n.Step(0, Applied{Index: d.Index + 1, Entry: &Joined{Member: "m3", Start: 7, Level: 1}})
	if n.Document().Index != d.Index {
		t.Error("it applies an entry after one that it does not know")
	}
}

// TestOlderMember holds back entries that a member does not know.
func TestOlderMember(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	m := d.Members["m3"]
	m.Level = 0
	d.Members["m3"] = m
	n := start(d, "m2", 1, 0)
	n.Step(0, Led{Leading: true})
	if effects := n.Step(60*second, Tick{}); len(effects) > 0 {
		t.Errorf("it proposes what m3 can't apply: %+v", effects)
	}
}

// TestSoleVoter gives the guard a deadline before anybody else gets a vote.
func TestSoleVoter(t *testing.T) {
	t.Parallel()
	d := serving(t, Async)
	agree(t, d, &Configured{Voters: []MemberID{"m1"}})
	n := start(d, "m1", 1, 0)
	n.lease.promoted = 1
	n.Step(0, Observed{Server: Server{System: "system", Volume: "v1", Role: Primary, Generation: 1}})
	n.lease.armed = true
	index := d.Index
	step := func(now Instant, e Entry) []Effect {
		index++
		return n.Step(now, Applied{Index: index, Entry: e})
	}
	n.lease.attempt = 1
	n.lease.next = 0
	renewal, ok := proposed[*Renew](n.Step(second, Tick{}))
	if !ok || renewal.Bounded {
		t.Fatalf("renewal %+v", renewal)
	}
	if deadline, _ := find[SetDeadline](step(second, renewal)); !deadline.Unlimited {
		t.Error("a sole voter that is the primary has a deadline")
	}
	n.Step(second, Led{Leading: true})
	n.Step(second, Contact{Present: []MemberID{"m2", "m3"}})
	n.Step(5*second, Contact{Present: []MemberID{"m2", "m3"}})
	effects := step(5*second, &OfferVote{Member: "m2"})
	if _, gives := find[GiveVote](effects); gives {
		t.Error("it gives a vote while its guard has no deadline")
	}
	n.lease.next = 0
	n.Step(6*second, Contact{Present: []MemberID{"m2", "m3"}})
	n.lease.next = 0
	n.lease.unlimited = true
	effects = n.Step(7*second, Tick{})
	if deadline, ok := find[SetDeadline](effects); !ok || deadline.Unlimited {
		t.Errorf("the guard has no deadline before the renewal is sent: %+v", effects)
	}
	bounded, ok := proposed[*Renew](effects)
	if !ok || !bounded.Bounded {
		t.Fatalf("renewal %+v", bounded)
	}
	if give, ok := find[GiveVote](step(7*second, bounded)); !ok || give.Member != "m2" {
		t.Error("it does not give the vote once its guard has a deadline")
	}
}

// TestStrictSetKeepsWhoIsAwaited holds that a strict set with too few standbys is not narrowed to one that happens to
// be
// named first: that one may be gone, and the other one about to stream.
func TestStrictSetKeepsWhoIsAwaited(t *testing.T) {
	t.Parallel()
	b, c := Standby{Member: "m2", Volume: "v2"}, Standby{Member: "m3", Volume: "v3"}
	n := New(Config{ID: "m1", Start: 1})
	n.doc = Document{
		Members:  map[MemberID]Member{"m1": {Volume: "v1"}, "m2": {Volume: "v2"}, "m3": {Volume: "v3"}},
		Settings: Settings{Timing: DefaultTiming(), Durability: Strict, Acknowledge: 1},
		InForce:  []SyncSet{{Version: 1, Need: 1, Primary: Standby{Member: "m1", Volume: "v1"}, Standbys: []Standby{b, c}}},
	}
	n.now = n.now.Add(time.Minute)
	if want := n.wantedSet(); !sameSet(want, n.doc.Set()) {
		t.Errorf("nobody streams, and the set becomes %v", want)
	}
	n.server.Standbys = []Streaming{{Standby: c}}
	if want := n.wantedSet(); !sameSet(want, SyncSet{Need: 1, Primary: want.Primary, Standbys: []Standby{c}}) {
		t.Errorf("m3 streams, and the set becomes %v", want)
	}
	n.server.Standbys = nil
	n.doc.Members["m2"] = Member{Volume: "v2", Leaving: true}
	if want := n.wantedSet(); !sameSet(want, SyncSet{Need: 1, Primary: want.Primary, Standbys: []Standby{c}}) {
		t.Errorf("m2 leaves, and the set becomes %v", want)
	}
}

// TestHurries: the server is observed more often while a primary stops for another one, and at no other time.
func TestHurries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		doc  Document
		want bool
	}{
		"a primary serves":                 {doc: Document{Phase: Serving}},
		"it stops for another one":         {doc: Document{Phase: Serving, Intent: &Intent{Target: "m2"}}, want: true},
		"it stopped, and all told of that": {doc: Document{Phase: Sealed, Intent: &Intent{Target: "m2"}}},
	} {
		if got := (&Node{doc: c.doc}).Hurries(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
