package protocol

import (
	"testing"
	"time"
)

// TestAdmit stops a primary for another one once no member passes new connections to it, and its server let in those
// that it had, or once that takes too long.
func TestAdmit(t *testing.T) {
	t.Parallel()
	const planned = 100 * second
	// primary returns m1, which serves and has just learnt of the plan, and who else was heard of.
	primary := func(t *testing.T, others ...MemberID) (*Node, []Effect) {
		d := serving(t, Async)
		n := start(d, "m1", 1, planned-second)
		n.lease = lease{generation: 1, promoted: 1, unlimited: true, deadlines: map[uint64]Instant{},
			next: planned + 1000*second}
		n.Step(planned-second, Observed{Server: Server{System: "system", Volume: "v1", Role: Primary, Generation: 1,
			Flushed: planned + 1000*second, Set: d.Set().Version}})
		for _, id := range others {
			n.Step(planned-1, Received{Member: id})
		}
		return n, n.Step(planned, Applied{Index: n.doc.Index + 1,
			Entry: &PlanSwitchover{Generation: 1, Intent: Intent{Target: "m2"}}})
	}
	job := func(effects []Effect) JobKind {
		found, _ := find[Do](effects)
		return found.Job.Kind
	}
	holds := func(id MemberID) Event { return Received{Member: id, Told: Told{Holds: 1}} }
	ended := func(kind JobKind) Event { return Done{Job: Job{Kind: kind, Generation: 1}} }
	type step struct {
		after time.Duration
		event Event
		want  JobKind
	}
	ms := time.Millisecond
	for _, c := range []struct {
		name  string
		heard []MemberID
		steps []step
	}{
		{"every member holds", []MemberID{"m2", "m3"}, []step{
			{ms, Tick{}, ""}, {2 * ms, holds("m3"), ""}, {3 * ms, holds("m2"), Admit}, {4 * ms, Tick{}, ""},
			{2000 * ms, ended(Admit), StopFast},
		}},
		{"nobody else is heard of", nil, []step{{ms, Tick{}, Admit}, {2 * ms, ended(Admit), StopFast}}},
		{"a member that held before another plan", []MemberID{"m2"}, []step{
			{ms, Received{Member: "m2", Told: Told{Holds: 7}}, ""}, {2 * ms, holds("m2"), Admit},
		}},
		{"a member never says so", []MemberID{"m2"}, []step{
			{2999 * ms, Received{Member: "m2"}, ""}, {3000 * ms, Tick{}, StopFast},
		}},
		{"a client never logs in", []MemberID{"m2"}, []step{
			{ms, holds("m2"), Admit}, {2999 * ms, Tick{}, ""}, {3000 * ms, Tick{}, StopFast},
			{3001 * ms, ended(Admit), ""},
		}},
		{"the agent is asked to end", []MemberID{"m2"}, []step{{ms, Retire{}, StopFast}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, effects := primary(t, c.heard...)
			if got := job(effects); got != "" {
				t.Errorf("it does %q in the very step in which its own proxy learns of the plan", got)
			}
			for _, s := range c.steps {
				if got := job(n.Step(planned.Add(s.after), s.event)); got != s.want {
					t.Errorf("%s after the plan %T leads to %q, want %q", s.after, s.event, got, s.want)
				}
			}
		})
	}
}
