package protocol

import "maps"

// lease is what this agent may count on as a primary.
type lease struct {
	// deadlines are those that its renewals will give once they are agreed, by attempt.
	deadlines map[uint64]Instant
	attempt   uint64
	next      Instant

	generation Generation
	deadline   Instant
	unlimited  bool
	// released is the generation that was given up: it is never renewed again.
	released Generation
	// promoted is the last generation that the server was promoted in, since promotedAt.
	promoted   Generation
	promotedAt Instant
	// reaped is the last generation in which a stop was done: no process of the server is left.
	reaped Generation
	// armed says that the guard has a deadline.
	armed bool
}

func (l *lease) valid(g Generation, now Instant) bool {
	return l.generation == g && l.released != g && (l.unlimited || now < l.deadline)
}

// renew asks for a renewal of the lease when it is time, as long as the server accepts and flushes writes.
func (n *Node) renew() {
	d, l := &n.doc, &n.lease
	if !n.primary() || l.released == d.Generation || (d.Phase == Serving && d.Process != n.start) || n.now < l.next {
		return
	}
	if l.promoted == d.Generation && !n.flushes() || n.retiring && l.promoted != d.Generation {
		return
	}
	if r := d.Reports[n.id]; d.Phase == Appointed && (n.server.Volume != r.Volume ||
		n.server.Position.Compare(r.Position) < 0) {
		return // it does not hold any more what it was appointed for
	}
	t := d.Settings.Timing
	bounded := !d.SoleVoter()
	if bounded && l.unlimited {
		// The guard gets its deadline before the group hears that it has one.
		l.unlimited, l.deadline = false, n.now.Add(t.Lease-t.Stop)
		n.arm()
	}
	l.attempt++
	l.next = n.now.Add(t.Renewal)
	l.deadlines[l.attempt] = n.now.Add(t.Lease - t.Stop)
	n.emit(Propose{Entry: &Renew{
		Member: n.id, Generation: d.Generation, Process: n.start, Nonce: n.nonce, Attempt: l.attempt, Lease: t.Lease,
		Bounded: bounded, Position: n.server.Position, At: d.Index, Chain: d.Chain,
	}})
}

// arm tells the guard the deadline.
func (n *Node) arm() {
	n.lease.armed = true
	n.emit(SetDeadline{At: n.lease.deadline, Unlimited: n.lease.unlimited})
}

// disarm takes the deadline from the guard once no process can accept a write: what it would kill is no primary.
func (n *Node) disarm() {
	if n.lease.armed && n.server.Role == Stopped && n.job.Kind != Promote && n.job.Kind != Copy {
		n.lease.armed = false
		n.emit(Disarm{})
	}
}

// flushes says whether the server runs as the primary and confirmed a flush lately. While it is promoted, or stopped
// for a switchover, the same time bounds the job. While it receives all data of the source it takes no writes, and that
// takes as long as there is data.
func (n *Node) flushes() bool {
	age := n.doc.Settings.Timing.ProbeAge
	if n.job.Kind == Copy {
		return true
	}
	if n.job.Kind == StopFast || n.job.Kind == Promote {
		return n.now.Sub(n.jobSince) <= age
	}
	return n.server.Role == Primary && n.now.Sub(max(n.server.Flushed, n.lease.promotedAt)) <= age
}

// renewed takes an agreed renewal of this start: the deadline counts from before it was sent.
func (n *Node) renewed(e *Renew) {
	l := &n.lease
	deadline, known := l.deadlines[e.Attempt]
	if !known {
		return
	}
	maps.DeleteFunc(l.deadlines, func(attempt uint64, _ Instant) bool { return attempt <= e.Attempt })
	if l.generation != e.Generation {
		l.generation, l.deadline, l.unlimited = e.Generation, 0, false
	}
	l.deadline = max(l.deadline, deadline)
	l.unlimited = !e.Bounded && n.doc.SoleVoter()
	if l.armed {
		n.arm()
	}
}
