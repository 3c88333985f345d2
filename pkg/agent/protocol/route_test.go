package protocol

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRoute asks two members of three for the way of clients.
func TestRoute(t *testing.T) {
	t.Parallel()
	const now = Instant(time.Minute)
	replica := func(of Generation) Told { return Told{Role: Replica, Generation: of} }
	lags := func(n *Node, by time.Duration, who ...MemberID) {
		for _, id := range who {
			told := Told{Role: Replica, Generation: 3, Lag: by}
			n.received[id] = received{told, now}
			if id == n.id {
				n.server.Lag = by
			}
		}
	}
	sound := Route{Primary: "m1", Generation: 3, Until: now + 5, Replicas: []MemberID{"m2", "m3"}}
	with := func(change func(*Route)) Route {
		r := sound
		change(&r)
		return r
	}
	for _, c := range []struct {
		name   string
		id     MemberID
		change func(*Node)
		want   Route
	}{
		{"the primary", "m1", func(*Node) {}, sound},
		{"a replica", "m2", func(*Node) {}, with(func(r *Route) { r.Until = now + 2 })},
		{"a sole voter", "m1", func(n *Node) { n.lease.unlimited = true },
			with(func(r *Route) { r.Until = math.MaxInt64 })},
		{"a lease that was released", "m1", func(n *Node) { n.lease.released = 3 }, with(func(r *Route) { r.Until = 0 })},
		{"a lease of another generation", "m1", func(n *Node) { n.lease.generation = 2 }, with(func(r *Route) {
			r.Until = 0
		})},
		{"a promotion at work", "m1", func(n *Node) { n.server = Server{Role: Replica} }, with(func(r *Route) {
			r.Primary = ""
		})},
		{"a promotion elsewhere", "m2", func(n *Node) { n.received["m1"] = received{replica(2), now} },
			with(func(r *Route) {
				r.Primary, r.Until = "", now+2
			})},
		{"a planned switchover", "m1", func(n *Node) { n.doc.Intent = &Intent{Target: "m2"} }, with(func(r *Route) {
			r.Hold = true
		})},
		{"an agent that is asked to end", "m1", func(n *Node) { n.retiring = true },
			with(func(r *Route) { r.Hold = true })},
		{"a replica that is silent", "m1", func(n *Node) { n.received["m3"] = received{replica(3), now.Add(-time.Hour)} },
			with(func(r *Route) { r.Replicas = []MemberID{"m2"} })},
		{"a replica of another primary", "m1", func(n *Node) { n.received["m3"] = received{replica(2), now} },
			with(func(r *Route) { r.Replicas = []MemberID{"m2"} })},
		{"a replica at the bound", "m1", func(n *Node) { lags(n, 30*time.Second, "m3") }, sound},
		{"a replica that lags", "m1", func(n *Node) { lags(n, 31*time.Second, "m3") },
			with(func(r *Route) { r.Replicas = []MemberID{"m2"} })},
		{"the own server lags", "m2", func(n *Node) { lags(n, time.Hour, "m2") },
			with(func(r *Route) { r.Until, r.Replicas = now+2, []MemberID{"m3"} })},
		{"both replicas lag, and there is a primary", "m1", func(n *Node) { lags(n, time.Hour, "m2", "m3") },
			with(func(r *Route) { r.Replicas = nil })},
		{"both replicas lag, and the lease of the primary is over", "m1", func(n *Node) {
			lags(n, time.Hour, "m2", "m3")
			n.lease.deadline = now
		}, with(func(r *Route) { r.Until = now })},
		{"both replicas lag, and the primary is not promoted yet", "m2", func(n *Node) {
			lags(n, time.Hour, "m2", "m3")
			n.received["m1"] = received{}
		}, with(func(r *Route) { r.Primary, r.Until = "", now+2 })},
		{"a replica that lags, and a silent one", "m1", func(n *Node) {
			lags(n, time.Hour, "m3")
			n.received["m2"] = received{replica(3), now.Add(-time.Hour)}
			n.lease.deadline = now
		}, with(func(r *Route) { r.Until, r.Replicas = now, []MemberID{"m3"} })},
		{"another bound", "m1", func(n *Node) {
			lags(n, 6*time.Second, "m3")
			n.doc.Settings.ReadonlyLag = 5 * time.Second
		}, with(func(r *Route) { r.Replicas = []MemberID{"m2"} })},
		{"no bound", "m1", func(n *Node) {
			lags(n, time.Hour, "m3")
			n.doc.Settings.ReadonlyLag = NoReadonlyLag
		}, sound},
		{"an own server without a stream", "m2", func(n *Node) { n.server.Upstream = "" }, with(func(r *Route) {
			r.Until, r.Replicas = now+2, []MemberID{"m3"}
		})},
		{"between two primaries", "m2", func(n *Node) { n.doc.Phase = Sealed }, Route{}},
		{"after the incarnation", "m2", func(n *Node) { n.doc.Successor = "u" }, Route{}},
		{"a halted member", "m2", func(n *Node) { n.halted = "x" }, Route{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := New(Config{ID: c.id, Now: now, Document: Document{
				Token: "t", System: "s", Generation: 3, Phase: Serving, Primary: "m1", Lease: 2,
				Members: map[MemberID]Member{"m1": {}, "m2": {}, "m3": {}, "w": {Witness: true}},
			}})
			n.received = map[MemberID]received{
				"m1": {Told{Role: Primary, Generation: 3}, now}, "m2": {replica(3), now}, "m3": {replica(3), now}, "w": {},
			}
			n.server = Server{Role: Replica, Upstream: "m1", Generation: 3}
			if c.id == "m1" {
				n.server = Server{Role: Primary, Generation: 3}
			}
			n.lease.generation, n.lease.deadline = 3, now+5
			c.change(n)
			if diff := cmp.Diff(c.want, n.Route(now)); diff != "" {
				t.Errorf("the way of clients (-want +got):\n%s", diff)
			}
		})
	}
}
