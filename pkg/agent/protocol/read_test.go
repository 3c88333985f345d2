package protocol

import (
	"testing"
	"time"
)

// TestRead: a member that the group leaves alone serves readers, and gives that up for what the group agrees on.
func TestRead(t *testing.T) {
	t.Parallel()
	timing := DefaultTiming()
	silence := Instant(timing.Lease + timing.ElectionBound)
	for _, c := range []struct {
		name   string
		now    Instant
		change func(*Node)
		want   JobKind
	}{
		{"a replica", silence, func(*Node) {}, Read},
		{"the former primary", silence, func(n *Node) { n.doc.Primary, n.lease.reaped = "m2", 3 }, Read},
		{"while nobody is the primary", silence, func(n *Node) { n.doc.Phase, n.server.Floor = Sealed, 3 }, Read},
		{"too early", silence - 1, func(*Node) {}, Follow},
		{"its server runs", silence, func(n *Node) { n.server.Role, n.server.Generation = Replica, 3 }, Follow},
		{"no data", silence, func(n *Node) { n.server.Volume = "" }, Clone},
		{"data of another database", silence, func(n *Node) { n.server.System = "u" }, ""},
		{"a job is at work", silence, func(n *Node) { n.job = Job{Kind: Follow, Generation: 3} }, ""},
		{"it reads already", silence, func(n *Node) { n.job = Job{Kind: Read, Generation: 3} }, ""},
		{"its agent ends", silence, func(n *Node) { n.retiring = true }, ""},
		{"it leaves", silence, func(n *Node) { delete(n.doc.Members, "m2") }, ""},
		{"a witness", silence, func(n *Node) { n.doc.Members["m2"] = Member{Witness: true} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := New(Config{ID: "m2", Document: Document{
				Token: "t", System: "s", Generation: 3, Phase: Serving, Primary: "m1", Process: 7, Lease: time.Hour,
				Members: map[MemberID]Member{"m1": {}, "m2": {}}, Settings: Settings{Timing: timing},
			}})
			n.server = Server{System: "s", Volume: "v"}
			c.change(n)
			job, _ := find[Do](n.Step(c.now, Tick{}))
			if job.Job.Kind != c.want {
				t.Errorf("its server shall %q, want %q", job.Job.Kind, c.want)
			}
		})
	}
}

// TestReadEnds: what the group agrees on comes before readers.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	d := founded(t, Async)
	agree(t, d, &Appoint{Member: "m1", Generation: 1, Timeline: 1, Set: FirstSet(d, "m1")})
	n := start(d, "m1", 1, 0)
	n.lease.next = 0
	now := Instant(time.Minute)
	if job, _ := find[Do](n.Step(now, Tick{})); job.Job.Kind != Read {
		t.Fatalf("it shall %q", job.Job.Kind)
	}
	n.lease.next = 0
	renewal, ok := proposed[*Renew](n.Step(now, Tick{}))
	if !ok {
		t.Fatal("it does not ask for a lease any more")
	}
	if job, _ := find[Do](n.Step(now, Applied{Index: d.Index + 1, Entry: renewal})); job.Job.Kind != Promote {
		t.Errorf("with a lease it shall %q", job.Job.Kind)
	}
}

// TestRemembered: what a member remembers counts until the group agrees on something. All of it is applied again then.
func TestRemembered(t *testing.T) {
	t.Parallel()
	before, after := founded(t, Async), founded(t, Async)
	agree(t, after, &Appoint{Member: "m1", Generation: 1, Timeline: 1, Set: FirstSet(after, "m1")})
	next := &Joined{Member: "m2", Start: 9, Level: highestLevel}
	remembers := func() *Node {
		return New(Config{ID: "m1", Start: 1, Document: *before, Remembered: after, LastIndex: after.Index})
	}
	n := remembers()
	if n.Document().Phase != Appointed {
		t.Fatalf("it remembers %+v", n.Document())
	}
	if n.Step(0, Restored{Document: *before}); n.Document().Phase != Appointed {
		t.Error("an older snapshot takes back what it remembers")
	}
	if n.Step(0, Applied{Index: before.Index + 1, Entry: next}); n.Document().Phase != Sealed {
		t.Error("the log is not applied again")
	}
	if n.Document().Members["m2"].Start != 9 {
		t.Error("the first entry is lost")
	}
	n = remembers()
	newer := *after
	newer.Index, newer.Generation = after.Index+1, 7
	if n.Step(0, Restored{Document: newer}); n.Document().Generation != 7 {
		t.Errorf("a newer snapshot is not taken: %+v", n.Document())
	}
}
