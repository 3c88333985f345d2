package protocol

import (
	"fmt"
	"slices"
)

// serve does what the primary of the document owes: renew first, then load the set and promote.
func (n *Node) serve() {
	d, l, s := &n.doc, &n.lease, &n.server
	promoted := s.Role == Primary && s.Generation == d.Generation
	switch {
	case l.released == d.Generation || d.Phase == Serving && d.Process != n.start,
		l.promoted == d.Generation && !promoted && n.job.Kind == "", n.retiring && !promoted:
		n.giveUp()
	case s.Role == Primary && !promoted:
		n.do(Job{Kind: StopNow})
	case promoted && (!l.valid(d.Generation, n.now) || n.job.Kind == "" && !n.flushes()):
		n.do(Job{Kind: StopNow})
	case promoted && d.Intent != nil && !n.retiring && n.awaits():
	case promoted && (d.Intent != nil || n.retiring || n.begins()):
		n.stoppedAt = n.now
		n.do(Job{Kind: StopFast})
	case promoted && n.follows():
	case promoted:
		n.changeSet()
		n.plan()
	case d.Phase == Serving && l.promoted != d.Generation && l.valid(d.Generation, n.now) && n.free():
		l.promoted, l.promotedAt = d.Generation, n.now
		n.arm()
		n.do(Job{Kind: Promote, Timeline: d.Timeline, Set: d.Set()})
	}
}

// giveUp releases the lease once a stop has reaped every process of the server: that the first one is gone proves
// nothing. This start of the agent then never renews the lease, so that a release that is agreed late ends nothing that
// serves.
func (n *Node) giveUp() {
	d := &n.doc
	if n.lease.reaped != d.Generation || n.server.Role == Primary {
		n.do(Job{Kind: StopNow})
		return
	}
	if n.job.Kind != "" {
		return // a promotion may be at work
	}
	if d.Intent != nil && n.lease.promoted == d.Generation &&
		n.received[d.Intent.Target].Position.Compare(n.server.Position) < 0 &&
		n.now.Sub(n.stoppedAt) < d.Settings.Timing.Lease/2 {
		return // the target has not confirmed the end of the log yet
	}
	n.lease.released = d.Generation
	release := Release{Member: n.id, Generation: d.Generation, Process: n.start}
	if !n.server.Unread {
		release.End = n.server.Position
	}
	n.propose(fmt.Sprintf("release %d", d.Generation), &release)
}

// plan begins a switchover that was asked for, or refuses it: a checkpoint comes first, so that the stop is short.
func (n *Node) plan() {
	if n.request == nil || n.job.Kind != "" {
		return
	}
	target := n.request.Target
	near := slices.ContainsFunc(n.server.Standbys, func(s Streaming) bool {
		return s.Member == target && s.Flushed+n.doc.Settings.MaxLag >= n.server.Position.Offset
	})
	err := FitTarget(&n.doc, target)
	if err == nil && !near {
		err = refuse("%s does not stream, or lacks more than maxLag (%d bytes)", target, n.doc.Settings.MaxLag)
	}
	if err != nil {
		n.refusals, n.refused = n.refusals+1, err.Error()
		n.emit(Refuse{Why: err.Error()})
		n.request = nil
		return
	}
	if !n.checkpointed {
		n.checkpointed = true
		n.do(Job{Kind: Checkpoint})
		return
	}
	n.propose(fmt.Sprintf("switchover %d", n.doc.Generation),
		&PlanSwitchover{Generation: n.doc.Generation, Intent: *n.request})
}

// changeSet keeps the synchronous set in step with the standbys that stream. A change is agreed before the server loads
// it, and settled once enough standbys of it hold all that was acknowledged before.
func (n *Node) changeSet() {
	d, s := &n.doc, &n.server
	set := d.Set()
	want := n.wantedSet()
	switch {
	case s.Set != set.Version:
		n.do(Job{Kind: Load, Set: set})
	case s.Settings != d.Settings.Version && n.job.Kind == "":
		n.do(Job{Kind: Reload})
	case len(d.InForce) > 1 && n.settled(set):
		n.propose(fmt.Sprintf("settle %d", set.Version), &SettleSet{Generation: d.Generation, Version: set.Version})
	case !sameSet(set, want):
		n.propose(fmt.Sprintf("set %d", want.Version), &ChangeSet{Generation: d.Generation, Set: want})
	}
}

// settled says whether enough standbys of the loaded set hold what was acknowledged before it was loaded.
func (n *Node) settled(set SyncSet) bool {
	have := 0
	for _, s := range n.server.Standbys {
		if slices.Contains(set.Standbys, s.Standby) && s.Flushed >= n.server.SetAt {
			have++
		}
	}
	return have >= set.Need
}

// wantedSet is the set for the standbys that stream now.
func (n *Node) wantedSet() SyncSet {
	d := &n.doc
	now := d.Set()
	want := SyncSet{Version: d.Sets + 1, Primary: d.standby(n.id)}
	streams := func(s Standby) bool {
		seen, ever := n.streamed[s.Member]
		listed := slices.ContainsFunc(n.server.Standbys, func(t Streaming) bool { return t.Standby == s })
		grace := 2 * d.Settings.Timing.Renewal
		return listed || slices.Contains(now.Standbys, s) &&
			(ever && n.now.Sub(seen) < grace || n.now.Sub(n.lease.promotedAt) < grace)
	}
	for _, id := range d.Data() {
		s := d.standby(id)
		if id != n.id && s.Volume != "" && !d.Members[id].Leaving && streams(s) {
			want.Standbys = append(want.Standbys, s)
		}
	}
	switch d.Settings.Durability {
	case Strict:
		want.Need = d.Settings.Acknowledge
		if len(want.Standbys) < want.Need {
			want.Standbys = n.keptStandbys(now.Standbys, want)
		}
	case Preferred:
		want.Need = min(d.Settings.Acknowledge, len(want.Standbys))
	default:
		want.Standbys = nil
	}
	return want
}

// keptStandbys adds standbys of the present set to a strict set that too few stream for. Nobody is taken out then: it
// is not known which comes back first. Who leaves stays only as long as there would be too few without it.
func (n *Node) keptStandbys(present []Standby, want SyncSet) []Standby {
	kept := want.Standbys
	for _, leaving := range []bool{false, true} {
		for _, s := range present {
			gone := n.doc.Members[s.Member].Leaving || n.doc.Members[s.Member].Volume != s.Volume
			if gone == leaving && !slices.Contains(kept, s) && (!leaving || len(kept) < want.Need) {
				kept = append(kept, s)
			}
		}
	}
	return kept
}

func sameSet(a, b SyncSet) bool {
	return a.Need == b.Need && a.Primary == b.Primary && len(a.Standbys) == len(b.Standbys) &&
		!slices.ContainsFunc(a.Standbys, func(s Standby) bool { return !slices.Contains(b.Standbys, s) })
}

// FirstSet is the set that a member is appointed with. Nobody streams from it yet: a strict set names every copy, a
// preferred one those that reported.
func FirstSet(d *Document, primary MemberID) SyncSet {
	set := SyncSet{Version: d.Sets + 1, Primary: d.standby(primary)}
	if d.Settings.Durability == Async {
		return set
	}
	for _, id := range d.Data() {
		_, reported := d.Reports[id]
		if s := d.standby(id); id != primary && s.Volume != "" && !d.Members[id].Leaving &&
			(reported || d.Settings.Durability == Strict) {
			set.Standbys = append(set.Standbys, s)
		}
	}
	set.Need = d.Settings.Acknowledge
	if d.Settings.Durability == Preferred {
		set.Need = min(set.Need, len(set.Standbys))
	}
	return set
}
