package protocol

import (
	"testing"
	"time"
)

// TestEndReported has the last primary release its lease and go. Its report is awaited where it could tell of more.
func TestEndReported(t *testing.T) {
	t.Parallel()
	at := func(offset uint64) Position { return Position{Timeline: 1, Offset: offset} }
	end := at(1100)
	for _, c := range []struct {
		name   string
		end    Position
		by     uint64
		offset uint64
		change func(*Document)
		want   bool
	}{
		{"who is left holds all of it", end, 1, 1100, nil, true},
		{"who is left lacks something", end, 1, 1099, nil, false},
		{"it did not tell where its log ends", Position{}, 1, 1100, nil, false},
		{"a later start of its agent told that", end, 2, 1100, nil, false},
		{"the planned target is awaited", end, 1, 1100, func(d *Document) { d.Intent = &Intent{Target: "m1"} }, false},
		{"who would be appointed leaves", end, 1, 1100, func(d *Document) {
			for _, id := range []MemberID{"m2", "m3"} {
				m := d.Members[id]
				m.Leaving = true
				d.Members[id] = m
			}
		}, false},
	} {
		d := serving(t, Strict)
		if c.change != nil {
			c.change(d)
		}
		n := start(d, "m2", 1, 0)
		n.Step(0, Led{Leading: true})
		n.Step(0, Contact{Present: []MemberID{"m1", "m3"}})
		renewed := d.LeaseNumber + 1
		for _, e := range []Entry{
			&Renew{Member: "m1", Generation: 1, Process: 1, Attempt: 2, Lease: 7 * time.Second,
				Position: at(1000)},
			&Release{Member: "m1", Generation: 1, Process: c.by, End: c.end}, &Seal{Generation: 2, LeaseNumber: renewed},
			&Reported{Member: "m2", Generation: 2, Report: Report{Volume: "v2", Position: at(1000)}},
			&Reported{Member: "m3", Generation: 2, Report: Report{Volume: "v3", Position: at(c.offset)}},
		} {
			n.Step(0, Applied{Index: n.Document().Index + 1, Entry: e})
		}
		clear(n.proposed)
		n.Step(0, Observed{Server: Server{System: "system", Volume: "v2", Floor: 2}})
		for _, o := range []struct {
			at   Instant
			want bool
		}{{Instant(time.Millisecond), c.want}, {Instant(reportTime), true}} {
			clear(n.proposed)
			a, appoints := proposed[*Appoint](n.Step(o.at, Tick{}))
			if appoints != o.want || appoints && a.Member != "m3" {
				t.Errorf("%s: after %s it appoints %t: %+v", c.name, time.Duration(o.at), appoints, a)
			}
		}
	}
}

// TestOwnVote: of two voters one is to lose its vote. The other one takes it: who leads hands that over first, and not
// again and again, for it agrees on nothing meanwhile.
func TestOwnVote(t *testing.T) {
	t.Parallel()
	for _, leader := range []MemberID{"m1", "m3"} {
		d := serving(t, Async)
		agree(t, d, &Configured{Voters: []MemberID{"m1", "m3"}}, &Leave{Member: "m2"})
		n := start(d, leader, 1, 0)
		n.Step(0, Led{Leading: true})
		downs, takes := 0, 0
		for at := Instant(0); at < 25*second; at += second {
			effects := n.Step(at, Contact{Present: []MemberID{"m1", "m3"}})
			if _, down := find[StepDown](effects); down {
				downs++
			}
			if take, ok := find[TakeVote](effects); ok {
				takes++
				if take.Member != "m3" {
					t.Errorf("%s takes the vote of %s", leader, take.Member)
				}
			}
		}
		if leader == "m1" && (takes == 0 || downs > 0) || leader == "m3" && (takes > 0 || downs != 3) {
			t.Errorf("%s leads: it takes a vote %d times, and hands over %d times", leader, takes, downs)
		}
	}
}
