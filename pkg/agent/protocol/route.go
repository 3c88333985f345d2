package protocol

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Route says where clients are served, as one member knows it.
type Route struct {
	// Primary accepts writes, or is "" while nobody does. Generation is its own.
	Primary    MemberID
	Generation Generation
	// Until is when nothing that the primary answers counts any more.
	Until Instant
	// Hold says that the primary is about to be another: new connections wait, open ones go on.
	Hold bool
	// Replicas stream from the primary, and serve data that is not older than the settings allow: those that lag more
	// are here only while nobody else serves. They are in order.
	Replicas []MemberID
	// Lease is the time after which a member that lost the group serves nobody.
	Lease time.Duration
}

// Same says whether clients go the same way, whatever the time.
func (r Route) Same(o Route) bool {
	return r.Primary == o.Primary && r.Generation == o.Generation && r.Hold == o.Hold &&
		slices.Equal(r.Replicas, o.Replicas)
}

// toldTime is how long a word of a replica counts.
const toldTime = 3 * time.Second

// Route returns where clients are served at a time. What other members do is what they told last.
func (n *Node) Route(now Instant) Route {
	d := &n.doc
	r := Route{Lease: d.Settings.Timing.Lease}
	if n.halted != "" || d.Phase != Serving || d.Successor != "" {
		return r
	}
	r.Generation, r.Hold = d.Generation, d.Intent != nil || d.Primary == n.id && n.retiring
	r.Until = n.until()
	var lagging []MemberID
	for _, id := range slices.Sorted(maps.Keys(d.Members)) {
		told := n.received[id]
		if id == n.id {
			told = received{n.server.Told(), now}
		}
		switch {
		case told.Generation != d.Generation || d.Members[id].Leaving:
		case told.Role == Primary && id == d.Primary:
			r.Primary = id
		case told.Role != Replica || id == d.Primary || now.Sub(told.at) >= toldTime:
		case d.Settings.tooOld(told.Lag):
			lagging = append(lagging, id)
		default:
			r.Replicas = append(r.Replicas, id)
		}
	}
	if len(r.Replicas) == 0 && (r.Primary == "" || now >= r.Until) {
		r.Replicas = lagging // old data is better than none
	}
	return r
}

// until is when nothing that the primary answers counts any more, as far as this member knows.
func (n *Node) until() Instant {
	d := &n.doc
	switch {
	case d.Primary != n.id:
		return n.leaseSeen.Add(d.Lease)
	case n.lease.generation != d.Generation || n.lease.released == d.Generation:
		return 0
	case n.lease.unlimited:
		return math.MaxInt64
	}
	return n.lease.deadline
}
