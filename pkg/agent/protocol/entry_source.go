package protocol

import "fmt"

// Source is a database outside of the cluster, whose primary follows it until EndSource. Until then nothing else
// writes. Either the first data of the cluster is a copy of it, or it is a copy of the cluster: see Kept.
type Source struct {
	// Address is a host and a port.
	Address string `json:"address"`
	// User logs in there; empty is the default one.
	User string `json:"user,omitempty"`
	// TLS encrypts the connection.
	TLS bool `json:"tls,omitempty"`
	// Kept says that the cluster has all data up to where the source closed it, and follows from there on. The source
	// left in the data of the cluster how its primary logs in.
	Kept bool `json:"kept,omitempty"`
}

// EndSource ends that the cluster follows its source, for good: from then on its primary takes writes.
type EndSource struct {
	Address string `json:"address"`
	// Generation is that of the primary which had the source pause writes: a later one has it take writes again. Agents
	// of level 2 gave none.
	Generation Generation `json:"generation,omitempty"`
}

// Kind names the entry.
func (*EndSource) Kind() string { return "endSource" }

func (e *EndSource) apply(d *Document) error {
	switch {
	case d.Source == nil || d.Source.Address != e.Address:
		return refuse("the cluster does not follow %s", e.Address)
	case d.Phase != Serving:
		return refuse("there is no primary now")
	case e.Generation != 0 && e.Generation != d.Generation:
		return refuse("the primary of generation %d is none any more", e.Generation)
	}
	d.Source = nil
	return nil
}

// follows does what the primary of the document owes to its source, and says whether that comes before other work.
func (n *Node) follows() bool {
	s := &n.server
	switch {
	case s.Following && n.doc.Source == nil:
		n.do(Job{Kind: Detach})
	case s.Behind:
		n.do(Job{Kind: Copy})
	default:
		return false
	}
	return true
}

// LacksCopies says which members do not stream from this primary, if fewer do than must acknowledge a write; else "".
func (n *Node) LacksCopies() string {
	set, streaming := n.doc.Settings.Acknowledge, len(n.server.Standbys)
	if n.doc.Settings.Durability == Async {
		set = min(1, len(n.doc.Data())-1)
	}
	if set = min(set, len(n.doc.Data())-1); streaming < set {
		return fmt.Sprintf("%d members copy the primary, and %d must hold what is written: wait until they do", streaming,
			set)
	}
	return ""
}
