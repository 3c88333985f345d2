package protocol

import (
	"fmt"
	"time"
)

// act does what this member owes as a primary or a replica: at most one job at a time.
func (n *Node) act() {
	d := &n.doc
	m, known := d.Members[n.id]
	switch {
	case known && m.Witness, d.Token == "":
	case d.Successor != "" || !known:
		if n.server.Role != Stopped {
			n.do(Job{Kind: StopNow})
		}
	case d.System == "":
		n.initialise()
	case n.reinitialise(), n.read():
	case n.server.Volume != "" && n.server.System != d.System:
		// The data of another database: nothing of it is touched, and it takes no part.
	case n.primary():
		n.serve()
	case n.server.Role == Primary:
		n.do(Job{Kind: StopNow})
	case n.retiring, n.catchingUp():
	case d.Phase == Sealed:
		n.report()
	case d.Phase == Serving:
		n.follow()
	}
}

// catchUpTime bounds the wait for what this member held before its last start: the end of its log may never be agreed.
const catchUpTime = 2 * time.Second

// catchingUp says that entries are applied again which this member held before it started. A server that is started
// meanwhile would begin with settings that were replaced, and one that runs would be given those.
func (n *Node) catchingUp() bool {
	return n.doc.Index < n.lastIndex && n.now.Sub(n.beganAt) < catchUpTime
}

func (n *Node) initialise() {
	switch {
	case n.doc.Grant != n.id:
	case n.server.Volume == "" && n.retiring:
	case n.server.Volume == "":
		n.do(Job{Kind: Initialise})
	default:
		n.propose("initialised", &Initialised{
			Member: n.id, Number: n.doc.Granted, System: n.server.System, Volume: n.server.Volume,
		})
	}
}

// report cuts the upstream, durably, and only then tells what this member holds. From there on it never streams from a
// primary of an earlier generation, or acknowledges a write of it, even across restarts.
func (n *Node) report() {
	d := &n.doc
	switch {
	case n.server.Volume == "":
	case n.server.Floor < d.Generation || n.server.Upstream != "" || n.server.Unread:
		n.do(Job{Kind: Cut})
	case n.server.Volume != d.Members[n.id].Volume:
		n.cloned()
	default:
		if r := (Report{Volume: n.server.Volume, Position: n.server.Position}); d.Reports[n.id] != r {
			n.propose(fmt.Sprintf("report %d", d.Generation), &Reported{Member: n.id, Generation: d.Generation, Report: r})
		}
	}
}

// follow streams from the primary. A directory that can't be rewound stays as it is: its rows may be the last copy.
func (n *Node) follow() {
	d := &n.doc
	switch {
	case n.server.Unfit != "" || d.Primary == "":
	case n.server.Volume == "":
		n.do(Job{Kind: Clone, Member: d.Primary})
	case n.server.Upstream != d.Primary || n.server.Generation != d.Generation || n.server.Role != Replica:
		n.do(Job{Kind: Follow, Member: d.Primary})
	case n.server.Volume != d.Members[n.id].Volume:
		n.cloned()
	case n.server.Settings != d.Settings.Version:
		n.do(Job{Kind: Reload})
	}
}

// cloned tells of a copy that the group does not know, and what it was made from if all members understand that.
func (n *Node) cloned() {
	if g := n.server.CopiedIn; g > 0 && LevelOf((*Copied)(nil).Kind()) <= n.doc.Level() {
		n.propose("cloned", &Copied{Member: n.id, Volume: n.server.Volume, Generation: g})
		return
	}
	n.propose("cloned", &Cloned{Member: n.id, Volume: n.server.Volume})
}
