package protocol

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// reportTime is how long the leader waits for reports of members that it hears of.
	reportTime = time.Second
	// preferTime is how long it waits for the last primary after a restart of all.
	preferTime = 30 * time.Second
	// contactTime is how long a member counts as present after it was heard of.
	contactTime = 3 * time.Second
)

// lead does the duties of the leader of the group.
func (n *Node) lead() {
	if !n.leading {
		return
	}
	d := &n.doc
	switch {
	case d.Token == "":
		if n.found != nil {
			n.propose("found", n.found)
		}
		return
	case d.Successor != "":
		return
	case d.System == "":
		n.grant()
	}
	n.seal()
	n.appoint()
	n.changeVotes()
	for _, id := range d.leaving() {
		if Removable(d, id) == nil {
			n.propose("remove "+string(id), &RemoveMember{Member: id})
		}
	}
	for id, h := range d.Holds {
		if h.For > 0 && n.now.Sub(max(n.holdSeen[id], n.ledSince)) >= h.For {
			n.propose(fmt.Sprintf("hold %s %d", id, h.Number), d.expire(id))
		}
	}
}

// grant lets the first member by name make the database, once every first member was heard of.
func (n *Node) grant() {
	data := n.doc.Data()
	if n.doc.Grant == "" && len(data) > 0 && !slices.ContainsFunc(slices.Collect(maps.Values(n.doc.Members)),
		func(m Member) bool {
			return m.Start == 0
		}) {
		n.propose("grant", &GrantInit{Member: data[0], Number: n.doc.Granted + 1})
	}
}

// seal ends a generation that was released, or whose lease is over. The lease is counted from when this agent learnt of
// the last renewal, which is later than the primary sent it; after a start of this agent, from that start.
func (n *Node) seal() {
	d := &n.doc
	due := false
	switch d.Phase {
	case Founding:
		due = d.System != ""
	case Released:
		due = true
	case Appointed, Serving:
		due = n.now.Sub(n.leaseSeen) >= d.Lease
	}
	if due {
		n.propose(fmt.Sprintf("seal %d", d.Generation), &Seal{Generation: d.Generation + 1, LeaseNumber: d.LeaseNumber})
	}
}

// appoint chooses among those that reported.
func (n *Node) appoint() {
	d := &n.doc
	if d.Phase != Sealed {
		n.blocked = ""
		return
	}
	since := max(n.sealSeen, n.ledSince)
	if n.now.Sub(since) < reportTime && n.awaitsReports() && !n.endReported() {
		return
	}
	last, known := d.Members[d.Primary]
	if _, reported := d.Reports[d.Primary]; !n.witnessed && known && last.Volume != "" && !reported &&
		n.now.Sub(since) < preferTime {
		n.blocked = fmt.Sprintf("all members started anew: waiting for %s, the last primary", d.Primary)
		return
	}
	best, why := Choose(d)
	if best == "" {
		n.blocked = why
		return
	}
	n.blocked = ""
	n.propose(fmt.Sprintf("appoint %d", d.Generation), &Appoint{
		Member: best, Generation: d.Generation, Timeline: d.nextTimeline(),
		Set: FirstSet(d, best),
	})
}

func highest(reports map[MemberID]Report) (timeline uint64) {
	for _, r := range reports {
		timeline = max(timeline, r.Position.Timeline)
	}
	return timeline
}

// endReported says that the last primary released its lease and told where its log ends, and that who would be
// appointed holds all of it. A report that is missing can't tell of more. Where the pod of that primary is gone, none
// comes.
func (n *Node) endReported() bool {
	d, end := &n.doc, n.released.End
	if end == (Position{}) || n.released.Generation != d.served() {
		return false
	}
	if d.Intent != nil {
		if _, reported := d.Reports[d.Intent.Target]; !reported {
			return false
		}
	}
	best, _ := Choose(d)
	return best != "" && !d.Members[best].Leaving && d.Reports[best].Position.Compare(end) >= 0
}

// awaitsReports says whether a member that was heard of has not reported yet.
func (n *Node) awaitsReports() bool {
	return slices.ContainsFunc(n.doc.Data(), func(id MemberID) bool {
		_, reported := n.doc.Reports[id]
		heard, ever := n.contact[id]
		return !reported && n.doc.Members[id].Volume != "" && (id == n.id || ever && n.now.Sub(heard) < contactTime)
	})
}

// changeVotes gives and takes votes. A primary that is the sole voter gives its guard a deadline before another votes.
func (n *Node) changeVotes() {
	d := &n.doc
	if n.now.Sub(n.ledSince) < contactTime || len(d.Voters) == 0 {
		return
	}
	gone := map[MemberID]time.Duration{}
	for id := range d.Members {
		if idle := n.now.Sub(max(n.contact[id], n.ledSince)); id != n.id && idle >= contactTime {
			gone[id] = idle
		}
	}
	change := NextVote(d, gone)
	if _, offered := d.Members[d.OfferedVote]; offered && change.Give == "" && change.Take == "" {
		n.propose("offer", &OfferVote{})
		return
	}
	switch {
	case change.Take == n.id:
		n.handOverLead()
	case change.Take != "":
		n.throttled("take "+string(change.Take), TakeVote{Member: change.Take})
	case change.Give == "":
	case d.OfferedVote != change.Give:
		n.propose("offer "+string(change.Give), &OfferVote{Member: change.Give})
	case d.Phase != Serving || d.Bounded:
		n.throttled("give "+string(change.Give), GiveVote{Member: change.Give})
	}
}

// leadTime is how long a leader leads on that wanted another member to lead. It agrees on nothing while it asks.
const leadTime = 10 * time.Second

// handOverLead has another voter take the vote of this member, which leads. A member counts its votes by the newest
// change in its log, agreed or not. A leader that took its own vote and was the only one to know of it would not ask
// for votes any more, and give none to others for their shorter logs: two voters that are both there would have no
// leader for ever.
func (n *Node) handOverLead() {
	const key = "hand over the lead"
	if last, asked := n.proposed[key]; !asked || n.now.Sub(last) >= leadTime {
		n.proposed[key] = n.now
		n.emit(StepDown{})
	}
}

func (n *Node) throttled(key string, e Effect) {
	if last, asked := n.proposed[key]; !asked || n.now.Sub(last) >= n.retry() {
		n.proposed[key] = n.now
		n.emit(e)
	}
}
