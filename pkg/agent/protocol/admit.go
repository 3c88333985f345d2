package protocol

import "time"

// admitTime bounds the time between the plan for another primary and the stop of the present one. Clients that are
// logged in work on meanwhile. One that never logs in must not keep the primary.
const admitTime = 3 * time.Second

// awaits says whether the primary still waits for clients that were on their way to it when another primary was
// planned. First every member that is there holds new connections, then the server lets in those that it has.
func (n *Node) awaits() bool {
	switch {
	case n.admitted == n.doc.Generation, n.now.Sub(n.intentSeen) >= admitTime:
		return false
	case n.held():
		n.do(Job{Kind: Admit})
	}
	return true
}

// held says whether no member passes a new connection to the primary any more. A member that is not heard of is not
// waited for. The proxy of this one learns of the plan right after the step that does.
func (n *Node) held() bool {
	d := &n.doc
	if n.now == n.intentSeen {
		return false
	}
	for id, m := range d.Members {
		told, heard := n.received[id]
		present := heard && n.now.Sub(told.at) < toldTime && !m.Leaving
		if id != n.id && present && told.Holds != d.Generation {
			return false
		}
	}
	return true
}
