package protocol

import (
	"fmt"
	"slices"
)

// Unready returns why this member may not serve clients at a time, or "": a primary serves under its lease, a replica
// while it streams from the present primary and confirms writes where replicas do, a witness while it hears a leader of
// the group. So a disruption budget does not count a replica that would leave writes to wait. A replica that lags is
// ready: clients that read come through the agents, and the one beside it passes them on to a member with newer data.
func (n *Node) Unready(now Instant, leader MemberID) string {
	d, s := &n.doc, &n.server
	m, known := d.Members[n.id]
	switch {
	case n.halted != "":
		return n.halted
	case d.Token == "":
		return "the group is not founded yet"
	case d.Successor != "":
		return "this incarnation of the cluster has ended"
	case !known || m.Leaving:
		return "this member is not in the group, or leaves it"
	case m.Witness && leader == "":
		return "no leader of the group is heard"
	case m.Witness:
		return ""
	case d.System == "":
		return "the database is not made yet"
	case n.primary() && !n.Leased(d.Generation, now):
		return "this member is the primary, but the lease is over"
	case n.primary() && !n.Serves(now):
		return "this member is the primary, and its server is not promoted yet"
	case n.primary():
		return ""
	case s.Unfit != "":
		return "the data of this member can't follow the primary: " + s.Unfit
	case d.Phase != Serving:
		return "there is no primary now"
	case s.Role != Replica || s.Upstream != d.Primary || s.Generation != d.Generation || s.Unread:
		return fmt.Sprintf("this member does not stream from %s, the primary", d.Primary)
	case d.Settings.Durability != Async && !slices.Contains(d.Set().Standbys, d.standby(n.id)):
		return "this member does not confirm writes yet"
	}
	return ""
}
