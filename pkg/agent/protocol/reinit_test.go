package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestReinit(t *testing.T) {
	t.Parallel()
	const now = Instant(time.Minute)
	for _, c := range []struct {
		name, want string
		change     func(*Node)
	}{
		{"an unfit copy", "", func(*Node) {}},
		{"a copy without a control file", "", func(n *Node) { n.server.System = "" }},
		{"a fit copy", "can follow the primary", func(n *Node) { n.server.Unfit = "" }},
		{"the primary", "the last one", func(n *Node) { n.doc.Primary = "m2" }},
		{"no copy", "holds no copy", func(n *Node) { n.server.Volume = "" }},
		{"another database", "is another database", func(n *Node) { n.server.System = "u" }},
		{"no primary", "no primary serves", func(n *Node) { n.doc.Phase = Sealed }},
		{"a primary that is silent", "no primary serves", func(n *Node) {
			n.received["m1"] = received{Told{Role: Primary, Generation: 3}, now.Add(-time.Hour)}
		}},
		{"a primary of another generation", "no primary serves", func(n *Node) {
			n.received["m1"] = received{Told{Role: Primary, Generation: 2}, now}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := New(Config{ID: "m2", Now: now, Document: Document{
				Token: "t", System: "s", Generation: 3, Phase: Serving, Primary: "m1", Lease: time.Hour,
				Members: map[MemberID]Member{"m1": {}, "m2": {}}, Settings: Settings{Timing: DefaultTiming()},
			}})
			n.server = Server{System: "s", Volume: "v", Unfit: "x"}
			n.received["m1"] = received{Told{Role: Primary, Generation: 3}, now}
			c.change(n)
			err := n.MayReinit(now)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("it is refused because %v, want %q", err, c.want)
			}
			discards := func(effects []Effect) (yes bool) {
				for _, e := range effects {
					job, ok := e.(Do)
					yes = yes || ok && job.Job.Kind == Discard
				}
				return yes
			}
			if discards(n.Step(now, Tick{})) {
				t.Error("the copy is removed without a request")
			}
			if got := discards(n.Step(now, Reinit{})); got != (c.want == "") {
				t.Errorf("the copy is removed: %t", got)
			}
			n.reinit, n.server.Broken, n.job = false, true, Job{}
			if got := discards(n.Step(now, Tick{})); got != (c.want == "") {
				t.Errorf("the broken copy is removed: %t", got)
			}
		})
	}
}
