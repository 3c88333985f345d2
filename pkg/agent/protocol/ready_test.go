package protocol

import (
	"strings"
	"testing"
	"time"
)

func TestUnready(t *testing.T) {
	t.Parallel()
	const now = Instant(time.Minute)
	streams := Server{Role: Replica, Upstream: "m1", Generation: 3}
	serves := Server{Role: Primary, Generation: 3}
	for _, c := range []struct {
		name, want string
		id, leader MemberID
		change     func(*Node)
	}{
		{"the primary", "", "m1", "", func(n *Node) { n.server = serves }},
		{"a lease that is over", "the lease is over", "m1", "m1", func(n *Node) {
			n.server, n.lease.deadline = serves, now
		}},
		{"a promotion at work", "not promoted yet", "m1", "m1", func(*Node) {}},
		{"a replica", "", "m2", "", func(n *Node) { n.server = streams }},
		{"a replica that lags: others are led past its server", "", "m2", "", func(n *Node) {
			n.server = streams
			n.server.Lag = time.Hour
		}},
		{"a replica that confirms no write yet", "does not confirm", "m2", "m1", func(n *Node) {
			n.server, n.doc.InForce = streams, []SyncSet{{}}
		}},
		{"another copy than the one that confirms", "does not confirm", "m2", "m1", func(n *Node) {
			n.server, n.doc.Members["m2"] = streams, Member{Volume: "other"}
		}},
		{"a replica where none confirms", "", "m2", "m1", func(n *Node) {
			n.server, n.doc.InForce, n.doc.Settings.Durability = streams, nil, Async
		}},
		{"no stream", "does not stream from m1", "m2", "m1", func(n *Node) { n.server.Role = Replica }},
		{"a stream from an earlier primary", "does not stream", "m2", "m1", func(n *Node) {
			n.server = streams
			n.server.Generation = 2
		}},
		{"a copy that must be rewound", "does not stream", "m2", "m1", func(n *Node) {
			n.server = streams
			n.server.Unread = true
		}},
		{"an unfit copy", "can't follow the primary: x", "m2", "m1", func(n *Node) { n.server.Unfit = "x" }},
		{"between two primaries", "no primary now", "m2", "m1", func(n *Node) { n.server, n.doc.Phase = streams, Sealed }},
		{"a witness", "", "w", "m1", func(*Node) {}},
		{"a witness alone", "no leader", "w", "", func(*Node) {}},
		{"an object of no member", "not in the group", "m9", "m1", func(*Node) {}},
		{"no database", "not made yet", "m2", "m1", func(n *Node) { n.doc.System = "" }},
		{"no group", "not founded", "m2", "m1", func(n *Node) { n.doc.Token = "" }},
		{"an incarnation that ended", "has ended", "m1", "m1", func(n *Node) { n.doc.Successor = "u" }},
		{"a halted member", "newer", "m1", "m1", func(n *Node) { n.halted = "newer" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := New(Config{ID: c.id, Document: Document{
				Token: "t", System: "s", Generation: 3, Phase: Serving, Primary: "m1",
				Members: map[MemberID]Member{"m1": {}, "m2": {Volume: "v"}, "w": {Witness: true}},
				InForce: []SyncSet{{Need: 1, Standbys: []Standby{{Member: "m2", Volume: "v"}}}},
			}})
			n.lease.generation, n.lease.deadline = 3, now+1
			c.change(n)
			if got := n.Unready(now, c.leader); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("it is unready because %q, want %q", got, c.want)
			}
		})
	}
}
